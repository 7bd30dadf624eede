// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

extension RawClient {
  /// Expects that the next error has this code, and that the bus then closes the connection without another frame.
  func expectClosed(with code: ErrorCode) throws {
    #expect(try nextError() == code)
    #expect(try readToEnd().isEmpty)
  }
}
