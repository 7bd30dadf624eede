// SPDX-License-Identifier: Apache-2.0

nonisolated package struct HTTPResponse: Error, Equatable, Sendable {
  package var status: UInt32
  package var type: String
  package var body: [UInt8]
  package var fields: [String: String]

  package init(
    _ status: UInt32 = 200, type: String = "text/plain; charset=utf-8", _ body: [UInt8],
    fields: [String: String] = [:]
  ) {
    (self.status, self.type, self.body, self.fields) = (status, type, body, fields)
  }

  package init(_ status: UInt32, _ text: String, fields: [String: String] = [:]) {
    self.init(status, Array("\(text)\n".utf8), fields: fields)
  }

  /// These fields forbid caching, framing, and reading by other sites. The page can run only scripts of its
  /// own site, and those scripts cannot turn text into markup.
  static let commonFields = [
    "Cache-Control": "no-store",
    "Connection": "close",
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  ]
}

package enum HTTPAnswer {
  case response(HTTPResponse)
  /// A stream of server-sent events. `next` returns nil if no event is ready.
  case events(next: () -> [UInt8]?)
  /// The listener reads a body of at most `HTTPListener.bodyMax` bytes, then calls `response`, which must
  /// return within the connection's deadline.
  case body(response: ([UInt8]) async -> HTTPResponse)
}
