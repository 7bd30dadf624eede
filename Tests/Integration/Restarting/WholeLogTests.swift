// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneServer

@Suite("A log with everything that a bus can have", .timeLimit(.minutes(15)))
struct WholeLogTests {
  /// Other restart tests cover these.
  private static let absent: Set<EntryKind> = [
    .registrationEnds, .questionTurns, .questionsRead, .succession, .abandonment,
  ]

  @Test("is taken over")
  func takenOver() throws {
    var kinds: Set<UInt8> = []
    for end in LogScene.End.allCases {
      let saved = try LogScene.record(end)
      kinds.formUnion(saved.flatMap(\.records).map(\.kind))
      try LogScene.expect(end, from: saved)
    }
    #expect(kinds == Set(EntryKind.allCases.filter { !Self.absent.contains($0) }.map(\.rawValue)))
  }
}
