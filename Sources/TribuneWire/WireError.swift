// SPDX-License-Identifier: Apache-2.0

/// The errors of a frame or a request. The numbers are the wire's.
package enum ErrorCode: UInt16, Sendable, CaseIterable {
  // These close the connection: the following bytes cannot be parsed, or the bus cannot keep the connection.
  case badMagic = 1
  case unsupportedVersion = 2
  case frameTooLong = 3
  case malformedFrame = 4
  case unknownCriticalKind = 5
  case helloTimeout = 6
  case frameTimeout = 7
  case unexpectedDescriptors = 8
  case tooSlow = 9
  case tooManyConnections = 10
  case outOfMemory = 11
  case shuttingDown = 12
  case missingDescriptor = 13
  case restarted = 14
  case afterLast = 15

  // These refuse one frame. The connection continues.
  case unknownKind = 64
  case invalidName = 65
  case invalidPattern = 66
  case invalidObject = 67
  case invalidValue = 68
  case reservedName = 69
  case duplicateSerial = 70
  case notFound = 71
  case notAsked = 72
  case limitExceeded = 73
  case cancelled = 74
  case recursion = 75
  case notPermitted = 76
  case unknownProtocol = 77
  case invalidProtocol = 78
  case notConforming = 79
  case unknownName = 80
  case invalidParameter = 81
  case conflict = 82
  case invalidDescriptor = 83

  /// Whether the bus closes the connection after this error.
  package var closesConnection: Bool { rawValue < ErrorCode.unknownKind.rawValue }
}

/// A refusal as in an `error` frame: a code for programs and a text for people.
package struct WireError: Error, Equatable, Sendable {
  package let code: ErrorCode
  package let message: String

  package init(_ code: ErrorCode, _ message: String) {
    self.code = code
    self.message = message
  }
}
