// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneLog

@testable import TribuneServer

/// A newer daemon reads the log of an older one: of each version there has been, two logs are kept as they were
/// written (`States/`), of a bus that was killed and of one that handed over.
///
/// Who changes what a log looks like, or what an entry or a counter slot means, raises `WriteAheadLog.version`, has the daemon
/// go on reading what was before, and has the logs of the new version recorded:
///
///     TRIBUNE_RECORD_STATES=1 swift test --filter LogVersionTests
///
/// Those of older versions stay as they are.
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

  @Test(
    "what a daemon of any version wrote is taken over",
    arguments: 1...WriteAheadLog.version, LogScene.End.allCases)
  func older(version: UInt32, end: LogScene.End) throws {
    let saved = try Self.saved(version, end)
    #expect(saved.allSatisfy { $0.version == version })
    do {
      try LogScene.expect(end, from: saved)
    } catch {
      Issue.record(error, "version \(version) is not read as it was written: see LogVersionTests")
    }
  }

  @Test(
    "what a daemon of today writes is of its version, and is taken over", arguments: LogScene.End.allCases)
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

  /// Kinds that have come since the logs of their version were recorded: a log is read without them, too.
  private static let later: Set<EntryKind> = [.configuration]

  @Test("there is a record of every kind among those that are kept")
  func kinds() throws {
    let records = try LogScene.End.allCases.flatMap { end in
      try Self.saved(WriteAheadLog.version, end).flatMap(\.records)
    }
    let expected = Set(EntryKind.allCases).subtracting(Self.later)
    #expect(Set(records.map(\.kind)) == Set(expected.map(\.rawValue)))
  }
}
