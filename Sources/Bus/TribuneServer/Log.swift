// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
package import TribuneWire

/// The daemon's messages to its operator: journal entries with fields if standard error leads to the journal, else
/// lines on standard error.
///
/// A message or a field may contain a peer's unmodified text, so everything is escaped here.
package final class Log {
  /// Values as in syslog.
  nonisolated package enum Level: Int32, Comparable, CaseIterable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// The name as in `[Log] Level=`.
    package var name: String { "\(self)" }

    /// A more important level compares as less.
    package static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
  }

  /// Names and values for the journal; a name is `TRIBUNE_SOMETHING`.
  package typealias Fields = KeyValuePairs<StaticString, String>

  private let threshold: Cell<Level>
  /// Less important messages are omitted.
  package var level: Level {
    get { threshold.value }
    set { threshold.value = newValue }
  }
  /// Nil if messages go to standard error.
  private let journal: JournalWriter?
  /// Lines that standard error has not taken since the last one.
  private let omittedCount = Cell(0)

  /// Writes to `destination`, or to standard error if the journal's thread cannot be started.
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

  /// Writes a message at the given level, as the methods above do.
  ///
  /// - Parameter user: who caused it; nil for the bus itself.
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

  /// Writes a line on standard error, unless that would have to wait for whoever reads it. The number of lines that were
  /// left out follows, when there is space again.
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

  /// Gives the journal a bounded time to accept the remaining entries.
  package func flush(within limit: Duration) { journal?.flush(within: limit) }

  // MARK: Verdicts

  /// Whether a verdict of this kind is logged at all.
  package func wants(_ verdict: VerdictKind, isOverridden: Bool) -> Bool {
    level(of: VerdictEntry.level(of: verdict, isOverridden: isOverridden)) <= level
  }

  /// Logs a verdict: an entry with fields in the journal, or one line on standard error.
  package func write(_ verdict: VerdictEntry) {
    guard level(of: verdict.level) <= level else { return }
    if let journal {
      journal.write(.verdict(verdict), for: verdict.asker.uid)
    } else {
      writeLine(verdict.message)
    }
  }

  /// Without a journal in which to look them up, ordinary verdicts are logged at debug level. An overridden veto is
  /// always worth a warning.
  private func level(of verdict: Level) -> Level { journal == nil && verdict > .warning ? .debug : verdict }
}
