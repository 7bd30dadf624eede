// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Testing
import TribuneServer
import TribuneSystem

/// Like journald's socket; only `read` reads it.
private final class StuckJournal: Sendable {
  private let ends: [CInt]

  init() throws {
    var ends: [CInt] = [-1, -1]
    let result = unsafe socketpair(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0, &ends)
    try #require(result == 0)
    self.ends = ends
  }

  deinit { for end in ends { close(end) } }

  func send(_ entry: JournalEntry) {
    let bytes = Array(entry.fields.joined(separator: "\n").utf8)
    let sent = unsafe Glibc.send(ends[0], bytes, bytes.count, CInt(MSG_NOSIGNAL))
    #expect(sent == bytes.count)
  }

  func read() -> [String] {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(ends[1], &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(
      String.init)
  }
}

@Suite("Writing to the journal", .timeLimit(.minutes(15)))
struct JournalWriterTests {
  private func entry(_ text: String) -> JournalItem { .entry(JournalEntry(.info, text)) }

  private static func droppedCount(_ fields: [String]) -> Int? {
    fields.first { $0.hasPrefix("TRIBUNE_DROPPED=") }.flatMap { Int($0.dropFirst("TRIBUNE_DROPPED=".count)) }
  }

  @Test("keeps the order, and has written everything when flushed")
  func order() throws {
    let journal = try StuckJournal()
    let writer = try JournalWriter { journal.send($0) }
    for number in 0..<5 { writer.write(entry("\(number)")) }
    #expect(writer.flush(within: .seconds(30)))
    for number in 0..<5 { #expect(journal.read().first == "MESSAGE=\(number)") }
  }

  @Test("never waits: while the journal hangs, entries are dropped, and the next entry counts them")
  func stuck() throws {
    let journal = try StuckJournal()
    let writer = try JournalWriter { journal.send($0) }
    // Without a reader, the socket fills, then the queue. The calls still return.
    let count = 3 * JournalWriter.entriesMax
    for number in 0..<count { writer.write(entry("\(number)")) }
    #expect(!writer.flush(within: .milliseconds(1)))

    var written: [Int] = []
    var dropped = 0
    var countStandsAt: Int?
    while written.count + dropped < count {
      let fields = journal.read()
      if let number = fields.first.flatMap({ Int($0.dropFirst("MESSAGE=".count)) }) {
        written.append(number)
      } else {
        dropped += try #require(Self.droppedCount(fields))
        #expect(fields.contains("PRIORITY=4"))
        countStandsAt = countStandsAt ?? written.count
      }
    }
    #expect(written == written.sorted())
    #expect(dropped > 0)
    #expect(try #require(countStandsAt) < written.count)
    #expect(writer.flush(within: .seconds(30)))
  }

  @Test("also limits the bytes")
  func bytes() throws {
    let journal = try StuckJournal()
    let writer = try JournalWriter { journal.send($0) }
    let long = String(repeating: "x", count: 30_000)
    let count = 2 * JournalWriter.bytesMax / long.utf8.count
    for _ in 0..<count { writer.write(entry(long)) }
    var written = 0
    var dropped = 0
    while written + dropped < count {
      if let count = Self.droppedCount(journal.read()) { dropped += count } else { written += 1 }
    }
    #expect(dropped >= count / 4)
  }

  @Test("has space for the bus and for each user, however much another user writes")
  func shares() throws {
    let journal = try StuckJournal()
    let writer = try JournalWriter { journal.send($0) }
    for _ in 0..<3 * JournalWriter.entriesMax { writer.write(entry("flood"), for: 1001) }
    for _ in 0..<JournalWriter.entriesMax / 8 { writer.write(entry("other"), for: 1002) }
    for user in [nil, 0] as [UInt32?] {
      for _ in 0..<JournalWriter.entriesMax / 4 { writer.write(entry("bus"), for: user) }
    }
    var counts: [String: Int] = [:]
    while counts["MESSAGE=bus", default: 0] < JournalWriter.entriesMax / 2 {
      counts[try #require(journal.read().first), default: 0] += 1
    }
    #expect(counts["MESSAGE=other"] == JournalWriter.entriesMax / 8)
    #expect(counts["MESSAGE=flood", default: 0] < JournalWriter.entriesMax)
  }

  @Test("reports the drops of a full queue at most twice: at once, and when it is empty")
  func counts() throws {
    let journal = try StuckJournal()
    let writer = try JournalWriter { journal.send($0) }
    // Once the queue is full, each read admits one entry.
    var (written, counted, counts) = (JournalWriter.entriesMax + 100, 0, 0)
    for number in 0..<written { writer.write(entry("\(number)")) }
    while counted < written {
      if let count = Self.droppedCount(journal.read()) {
        counted += count
        counts += 1
      } else {
        counted += 1
        if counted < JournalWriter.entriesMax / 4 {
          writer.write(entry("more"))
          written += 1
        }
      }
    }
    #expect((1...2).contains(counts))
  }

  @Test("gets the entries of the log, with their fields, escaped")
  @MainActor func log() throws {
    let journal = try StuckJournal()
    let log = Log(level: .info, journal: try JournalWriter { journal.send($0) })
    log.debug("left out")
    log.warning("one\u{1B}[31m", ["TRIBUNE_NAME": "a\nTRIBUNE_NAME=b", "TRIBUNE_NAME": "c"])
    #expect(
      journal.read() == [
        "MESSAGE=one\\u{1b}[31m", "PRIORITY=4", "SYSLOG_IDENTIFIER=tribuned",
        "TRIBUNE_NAME=a\\nTRIBUNE_NAME=b", "TRIBUNE_NAME=c",
      ])
  }
}
