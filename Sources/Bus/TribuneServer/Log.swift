// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
package import TribuneWire

/// The daemon's messages to its operator: journal entries if standard error leads to the journal, else lines
/// on standard error.
///
/// Escapes all text, because messages and fields can contain a client's text.
package final class Log {
  /// The values are the priorities of syslog(3).
  nonisolated package enum Level: Int32, Comparable, CaseIterable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    package var name: String { "\(self)" }

    package static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
  }

  /// Journal fields. Their names begin with `TRIBUNE_`, except `MESSAGE_ID`.
  package typealias Fields = KeyValuePairs<StaticString, String>

  private let threshold: Cell<Level>
  package var level: Level {
    get { threshold.value }
    set { threshold.value = newValue }
  }
  private let journal: JournalWriter?
  private let recent = Cell(RecentVerdicts())
  private let omittedCount = Cell(0)

  /// Falls back to standard error if the journal's thread cannot start.
  package convenience init(level: Level = .info, destination: LogDestination = .current) {
    guard destination == .journal else {
      self.init(level: level, journal: nil)
      return
    }
    do {
      self.init(level: level, journal: try JournalWriter())
    } catch {
      self.init(level: level, journal: nil)
      self.error("cannot start the thread for the journal, logging to standard error: \(error)")
    }
  }

  package init(level: Level = .info, journal: JournalWriter?) {
    threshold = Cell(level)
    self.journal = journal
  }

  package func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
    write(.error, message(), fields())
  }

  package func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
    write(.warning, message(), fields())
  }

  package func notice(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
    write(.notice, message(), fields())
  }

  package func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
    write(.info, message(), fields())
  }

  package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
    write(.debug, message(), fields())
  }

  package func write(
    _ level: Level, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:],
    for user: UInt32? = nil
  ) {
    guard level <= self.level else { return }
    guard let journal else {
      writeLine(message())
      return
    }
    var entry = JournalEntry(level, message())
    for (name, value) in fields() { entry.append(name, value) }
    journal.write(.entry(entry), for: user)
  }

  /// Writes a line to standard error. If that would block, counts the line for a later report.
  private func writeLine(_ message: String) {
    if omittedCount.value > 0 {
      let omitted =
        "tribuned: \(omittedCount.value.counted("line was", "lines were")) left out: nobody read them"
      guard StandardError.writeLineAtOnce(omitted) else {
        omittedCount.value += 1
        return
      }
      omittedCount.value = 0
    }
    if !StandardError.writeLineAtOnce("tribuned: \(message.escaped)") { omittedCount.value += 1 }
  }

  package func flush(within limit: Duration) { journal?.flush(within: limit) }

  // MARK: Verdicts

  package func wants(_ verdict: VerdictKind, isOverridden: Bool) -> Bool {
    level(of: VerdictEntry.level(of: verdict, isOverridden: isOverridden)) <= level
  }

  package func write(_ verdict: VerdictEntry) {
    guard level(of: verdict.level) <= level else { return }
    if let journal {
      journal.write(.verdict(verdict), for: verdict.asker.uid)
    } else {
      writeLine(verdict.message)
    }
  }

  /// Without a journal, verdicts are debug messages, except overridden vetoes, which are always warnings.
  private func level(of verdict: Level) -> Level { journal == nil && verdict > .warning ? .debug : verdict }

  var hasJournal: Bool { journal != nil }

  /// True if a verdict must be kept in memory: there is no journal, and `level` includes the verdict's own
  /// level (`VerdictEntry.level`), not the lower one that `write` uses without a journal.
  func keeps(_ verdict: VerdictKind, isOverridden: Bool) -> Bool {
    journal == nil && VerdictEntry.level(of: verdict, isOverridden: isOverridden) <= level
  }

  func keep(_ verdict: VerdictEntry) { recent.value.append(verdict) }

  /// The verdicts in memory, the oldest first.
  var recentVerdicts: [RecentVerdicts.Kept] { recent.value.all }
}
