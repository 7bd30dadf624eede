// SPDX-License-Identifier: Apache-2.0

extension ErrorCode {
  package var closesConnection: Bool { rawValue < ErrorCode.unknownKind.rawValue }
}

package struct WireError: Error, Equatable, Sendable {
  package let code: ErrorCode
  package let message: String

  package init(_ code: ErrorCode, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension Refusal {
  package init(_ code: ErrorCode) { self.init(rawCode: code.rawValue) }
}
