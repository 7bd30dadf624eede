// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem
package import TribuneWire

/// What the daemon tells its operator: entries with fields in the journal where standard error leads
/// there, else lines on standard error.
///
/// A message or a field may hold a peer's text as it came: everything is escaped here.
package final class Log {
  /// The numbers are syslog's.
  nonisolated package enum Level: Int32, Comparable, CaseIterable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// As `[Log] Level=` says it.
    package var name: String { "\(self)" }

    /// More important is less.
    package static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
  }

  nonisolated package enum Destination: Equatable, Sendable {
    case journal
    case standardError
  }

  /// Names and values for the journal; the names are `TRIBUNE_SOMETHING`.
  package typealias Fields = KeyValuePairs<StaticString, String>

  private let threshold: Cell<Level>
  /// What is less important is left out.
  package var level: Level {
    get { threshold.value }
    set { threshold.value = newValue }
  }
  /// Nil where messages are lines on standard error.
  private let journal: JournalWriter?

  /// Writes to `destination`; to standard error where the journal cannot be written to without waiting.
  package convenience init(level: Level = .info, destination: Destination = .current) {
    guard destination == .journal else {
      self.init(level: level, journal: nil)
      return
    }
    do {
      self.init(level: level, journal: try JournalWriter())
    } catch {
      self.init(level: level, journal: nil)
      self.error("there can be no thread for the journal, and entries go without fields: \(error)")
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

  /// The other methods under a level that is a value.
  package func write(
    _ level: Level, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]
  ) {
    guard level <= self.level else { return }
    guard let journal else {
      StandardError.writeLine("tribuned: \(message().escaped)")
      return
    }
    var entry = JournalEntry(level, message())
    for (name, value) in fields() { entry.append(name, value) }
    journal.write(.entry(entry))
  }

  /// Gives the journal a bounded time to take what it has not yet.
  package func flush(within limit: Duration) {
    journal?.flush(within: limit)
  }

  // MARK: Verdicts

  /// Whether such a verdict is written down at all.
  package func wants(_ verdict: VerdictKind, isOverridden: Bool) -> Bool {
    level(of: VerdictEntry.level(of: verdict, isOverridden: isOverridden)) <= level
  }

  /// Writes a verdict down: an entry with its fields in the journal, or its one line on standard error.
  package func write(_ verdict: VerdictEntry) {
    guard level(of: verdict.level) <= level else { return }
    if let journal {
      journal.write(.verdict(verdict))
    } else {
      StandardError.writeLine("tribuned: \(verdict.message.escaped)")
    }
  }

  /// Without a journal to look them up in, verdicts are for those who asked; but that somebody went past a
  /// veto is news anywhere.
  private func level(of verdict: Level) -> Level {
    journal == nil && verdict > .warning ? .debug : verdict
  }
}

nonisolated extension Log.Destination {
  /// Where this process's standard error leads.
  package static var current: Self {
    guard let stream = unsafe getenv("JOURNAL_STREAM") else { return .standardError }
    return unsafe of(STDERR_FILENO, journalStream: String(cString: stream))
  }

  /// Where a descriptor leads, given the `DEVICE:INODE` that systemd has connected to the journal
  /// (systemd.exec(5), "$JOURNAL_STREAM"). The variable is inherited by processes whose standard error
  /// has since been turned elsewhere, so the descriptor has to be that very stream.
  package static func of(_ descriptor: CInt, journalStream: String) -> Self {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .standardError }
    return journalStream == "\(status.st_dev):\(status.st_ino)" ? .journal : .standardError
  }
}
