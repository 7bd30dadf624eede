// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import TribuneSystem
import TribuneWire

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

  /// What is less important is left out.
  package var level: Level
  private let destination: Destination

  package init(level: Level = .info, destination: Destination = .current) {
    self.level = level
    self.destination = destination
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
    let message = message().escaped
    switch destination {
    case .journal:
      // Without a journal that takes it, the line is better than nothing.
      if !Self.sendToJournal(level, message, fields()) { StandardError.writeLine("tribuned: \(message)") }
    case .standardError:
      StandardError.writeLine("tribuned: \(message)")
    }
  }

  private static func sendToJournal(_ level: Level, _ message: String, _ fields: Fields) -> Bool {
    var bytes: [UInt8] = []
    var ranges: [Range<Int>] = []
    func append(_ name: String, _ value: String) {
      let start = bytes.count
      bytes += "\(name)=\(value)".utf8
      ranges.append(start..<bytes.count)
    }
    append("MESSAGE", message)
    append("PRIORITY", String(level.rawValue))
    append("SYSLOG_IDENTIFIER", "tribuned")
    for (name, value) in fields { append("\(name)", value.escaped) }
    return unsafe bytes.withUnsafeMutableBytes { bytes in
      let entry = unsafe ranges.map { range in
        unsafe iovec(iov_base: bytes.baseAddress.map { unsafe $0 + range.lowerBound }, iov_len: range.count)
      }
      return unsafe sd_journal_sendv(entry, CInt(entry.count)) == 0
    }
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
