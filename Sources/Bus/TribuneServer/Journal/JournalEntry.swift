// SPDX-License-Identifier: Apache-2.0

import CSystemd
import TribuneSystem
import TribuneWire

/// One journal entry, for sd_journal_sendv(3). Escapes every value, because values can contain a peer's text.
nonisolated package struct JournalEntry: Equatable, Sendable {
  private var bytes: [UInt8] = []
  private var ranges: [Range<Int>] = []

  package init(_ level: Log.Level, _ message: String) {
    append("MESSAGE", message)
    append("PRIORITY", String(level.rawValue))
    append("SYSLOG_IDENTIFIER", "tribuned")
  }

  package mutating func append(_ name: StaticString, _ value: String) {
    let start = bytes.count
    bytes += "\(name)=\(value.escaped)".utf8
    ranges.append(start..<bytes.count)
  }

  package var byteCount: Int { bytes.count }

  package var fields: [String] { ranges.map { String(decoding: bytes[$0], as: UTF8.self) } }

  private static let socket = Array("/run/systemd/journal/socket".utf8)

  /// Blocks while journald does not run, or does not read its socket. After any other failure, writes the
  /// message to standard error.
  package func send() {
    guard !attempt() else { return }
    let late = JournalEntry(.warning, "journald did not run; the entries that waited for it follow")
    while !late.attempt() { Thread.sleep(milliseconds: 1000) }
    send()
  }

  /// Returns false if journald does not run.
  private func attempt() -> Bool {
    // While journald has no socket, sd_journal_sendv(3) drops an entry silently.
    if Folder.lacks(Self.socket) { return false }
    var bytes = bytes
    let result = unsafe bytes.withUnsafeMutableBytes { bytes in
      let parts = unsafe ranges.map { range in
        unsafe iovec(iov_base: bytes.baseAddress.map { unsafe $0 + range.lowerBound }, iov_len: range.count)
      }
      return unsafe sd_journal_sendv(parts, CInt(parts.count))
    }
    // When systemd stops journald's socket, the file stays. The kernel then refuses connections there.
    if Errno(rawValue: -result) == .connectionRefused { return false }
    if result < 0, let message = fields.first?.dropFirst("MESSAGE=".count) {
      StandardError.writeLine("tribuned: \(message)")
    }
    return true
  }
}
