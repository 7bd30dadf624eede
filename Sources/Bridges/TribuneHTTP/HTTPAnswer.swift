// SPDX-License-Identifier: Apache-2.0

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
