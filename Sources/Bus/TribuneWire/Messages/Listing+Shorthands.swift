// SPDX-License-Identifier: Apache-2.0

extension List {
  package init(_ subject: ListSubject, connection: UInt64 = 0) {
    self.init(subject: subject, connection: connection)
  }

  package init(_ question: AccessQuestion, connection: UInt64 = 0) {
    self.init(subject: .access, connection: connection, question: question)
  }
}

extension ConnectionEntry {
  package var isPaused: Bool { state.contains(.paused) }
  package var isLossy: Bool { state.contains(.lossy) }
  package var isSuspended: Bool { state.contains(.suspended) }
  package var isSurviving: Bool { !state.contains(.notSurviving) }
}

extension DepartedEntry {
  /// - Parameter reason: the error for which the bus ended the connection; nil if the client disconnected.
  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, elapsed: UInt64, reason: ErrorCode?, lost: UInt64,
    posted: UInt64
  ) {
    self.init(
      id: id, peer: peer, age: age, elapsed: elapsed, rawReason: reason?.rawValue ?? 0, lost: lost,
      posted: posted)
  }
}

extension MissingEntry {
  package static let anyDelegate = "*"
}
