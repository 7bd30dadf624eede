// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneLog

@testable import TribuneServer

/// A newer daemon reads the logs of all older ones. `States/` has two logs of each version, as they were written: of a
/// bus that was killed, and of one that handed over.
///
/// If you change the format of the log, or what an entry or a counter slot means, raise `WriteAheadLog.version`, let
/// the daemon go on reading what was before, and record the logs of the new version:
///
///     TRIBUNE_RECORD_STATES=1 swift test --filter LogVersionTests
///
/// Leave the logs of older versions as they are.
@Suite("Versions of the log", .timeLimit(.minutes(3)))
struct LogVersionTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("States")

  /// - Parameter part: `state`, or `streams` for what was under way.
  private static func file(_ version: UInt32, _ end: LogScene.End, _ part: String) -> URL {
    folder.appendingPathComponent("\(version)-\(end.rawValue).\(part)")
  }

  private static func parts(_ end: LogScene.End) -> [String] {
    end == .handedOver ? ["state", "streams"] : ["state"]
  }

  static func saved(_ version: UInt32, _ end: LogScene.End) throws -> [SavedLog] {
    try parts(end).map { try SavedLog(String(contentsOf: file(version, end, $0), encoding: .utf8)) }
  }

  @Test("a log of any version is taken over", arguments: 1...WriteAheadLog.version, LogScene.End.allCases)
  func older(version: UInt32, end: LogScene.End) throws {
    let saved = try Self.saved(version, end)
    #expect(saved.allSatisfy { $0.version == version })
    do {
      try LogScene.expect(end, from: saved)
    } catch {
      Issue.record(error, "version \(version) is not read as it was written: see LogVersionTests")
    }
  }

  @Test("today's daemon writes logs of its version, and takes them over", arguments: LogScene.End.allCases)
  func today(end: LogScene.End) throws {
    let saved = try LogScene.record(end)
    #expect(saved.map(\.version) == Self.parts(end).map { _ in WriteAheadLog.version })
    #expect(saved[0].records.contains { $0.kind == EntryKind.configuration.rawValue })
    try LogScene.expect(end, from: saved)
    guard ProcessInfo.processInfo.environment["TRIBUNE_RECORD_STATES"] != nil else { return }
    for (part, state) in zip(Self.parts(end), saved) {
      try Data(state.text.utf8).write(to: Self.file(WriteAheadLog.version, end, part))
    }
  }

  /// Kinds that are newer than the recorded logs of their version. A daemon does without them.
  private static let later: Set<EntryKind> = [
    .configuration, .registrationEnd, .questionTurns, .questionsRead, .statistics,
  ]

  @Test("the recorded logs have entries of every kind")
  func kinds() throws {
    let records = try LogScene.End.allCases.flatMap { end in
      try Self.saved(WriteAheadLog.version, end).flatMap(\.records)
    }
    let expected = Set(EntryKind.allCases).subtracting(Self.later)
    #expect(Set(records.map(\.kind)) == Set(expected.map(\.rawValue)))
  }
}
