// SPDX-License-Identifier: Apache-2.0

/// What is answered to a request.
package enum HTTPAnswer {
  case response(HTTPResponse)
  /// An event stream.
  ///
  /// - Parameter next: the next event; nil if there is none yet.
  case events(next: () -> [UInt8]?)
}
