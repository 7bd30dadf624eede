// SPDX-License-Identifier: Apache-2.0

/// A response that is known as a whole.
nonisolated package struct HTTPResponse: Error, Equatable, Sendable {
  package var status: UInt32
  package var type: String
  package var body: [UInt8]
  /// Beside `type` and those that every response has.
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

  /// What every response has. Nothing is kept by a cache, shown in a frame, or read by another site; the page runs only its
  /// own script, which can make no markup of text.
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

/// What is answered to a request.
package enum HTTPAnswer {
  case response(HTTPResponse)
  /// An event stream.
  ///
  /// - Parameter next: the next event; nil if there is none yet.
  case events(next: () -> [UInt8]?)
  /// A response that is only known when the body was read, of `HTTPListener.bodyMax` bytes at most, and some time after that.
  ///
  /// - Parameter response: must come in less than the connection's deadline.
  case body(response: ([UInt8]) async -> HTTPResponse)
}
