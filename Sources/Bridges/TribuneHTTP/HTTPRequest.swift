// SPDX-License-Identifier: Apache-2.0

/// The method, path and header fields of a request.
nonisolated package struct HTTPRequest: Equatable, Sendable {
  package var method: String
  /// The path, without the query.
  package var path: String
  /// The values of each field, by the field's lower-case name.
  package var fields: [String: [String]]

  package init(_ method: String, _ path: String, fields: [String: [String]] = [:]) {
    (self.method, self.path, self.fields) = (method, path, fields)
  }

  /// The field's value; nil if the field is missing or repeated.
  package func only(_ name: String) -> String? {
    guard let values = fields[name], values.count == 1 else { return nil }
    return values[0]
  }

  package var hasBody: Bool {
    fields["transfer-encoding"] != nil || fields["content-length"].map { $0 != ["0"] } ?? false
  }

  /// The body's length in bytes; nil if unknown.
  package var bodyLength: Int? {
    guard fields["transfer-encoding"] == nil else { return nil }
    guard fields["content-length"] != nil else { return 0 }
    guard let length = only("content-length"),
      length.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(length)
  }

  /// True if the browser says that a page of another origin sent this request. False for a navigation, by
  /// a link or a form.
  package var isCrossSite: Bool {
    guard let site = fields["sec-fetch-site"] else { return false }
    return site != ["same-origin"] && site != ["none"] && fields["sec-fetch-mode"] != ["navigate"]
  }
}
