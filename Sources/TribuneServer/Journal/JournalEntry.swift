// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import TribuneSystem
import TribuneWire

/// One entry of the journal: names and values, as sd_journal_sendv(3) takes them.
///
/// A value may hold a peer's text as it came: all of them are escaped here.
nonisolated package struct JournalEntry: Equatable, Sendable {
  /// `NAME=VALUE`, one behind the other.
  private var bytes: [UInt8] = []
  private var ranges: [Range<Int>] = []

  package init(_ level: Log.Level, _ message: String) {
    append("MESSAGE", message)
    append("PRIORITY", String(level.rawValue))
    append("SYSLOG_IDENTIFIER", "tribuned")
  }

  /// Adds a field. One name can have several values; the journal does not keep their order.
  package mutating func append(_ name: StaticString, _ value: String) {
    let start = bytes.count
    bytes += "\(name)=\(value.escaped)".utf8
    ranges.append(start..<bytes.count)
  }

  /// Bytes in all its fields.
  package var byteCount: Int { bytes.count }

  /// Each field as `NAME=VALUE`, in the order of adding.
  package var fields: [String] { ranges.map { String(decoding: bytes[$0], as: UTF8.self) } }

  /// Hands the entry to the journal, and waits for as long as that does not take it. Without a journal that
  /// does, the message goes to standard error, which is better than nothing.
  package func send() {
    var bytes = bytes
    let result = unsafe bytes.withUnsafeMutableBytes { bytes in
      let parts = unsafe ranges.map { range in
        unsafe iovec(iov_base: bytes.baseAddress.map { unsafe $0 + range.lowerBound }, iov_len: range.count)
      }
      return unsafe sd_journal_sendv(parts, CInt(parts.count))
    }
    if result < 0, let message = fields.first?.dropFirst("MESSAGE=".count) {
      StandardError.writeLine("tribuned: \(message)")
    }
  }
}
