// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Slow readers over restarts", .timeLimit(.minutes(15)))
struct SlowReaderTests {
  /// A client with little room.
  private final class Reader {
    private let client: RawClient
    private var limit = 0
    private(set) var tally = Tally()

    init(on bus: RestartedBus) throws {
      client = try RawClient.greeted(bus)
      try sendLimit()
      try client.observe("load.*", serial: 1)
    }

    private func sendLimit() throws { try client.send(Room(limit: UInt64(limit)), serial: 0) }

    /// Reads so many of the notifications posted before.
    func read(_ count: Int, of posted: Int) throws {
      limit = max(limit, tally.total + count)
      try sendLimit()
      while tally.total < min(limit, posted) {
        let frame = try client.next()
        try tally.add(frame)
        // A bus that has lost the limit asks for it.
        if frame.kind == .room { try sendLimit() }
      }
    }

    func expectSilence() throws { try client.expectSilence() }
  }

  private static let rounds = Seeds.isLong ? 50 : 3

  @Test("receive each notification or its count, over restarts and deaths")
  func account() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nPaceMaxSec=1ms\n")
    let readers = try (0..<3).map { _ in try Reader(on: bus) }
    let poster = try RawClient.observing("nothing.*", on: bus)
    let stream = PostStream(poster)
    for round in 0..<Self.rounds {
      for way in RestartedBus.Way.allCases {
        try stream.post(80)
        try poster.settle()
        for (place, reader) in readers.enumerated() {
          try reader.read((round * 13 + place * 29) % 120, of: stream.posted)
        }
        try bus.restart(way)
      }
    }
    try stream.post(1)
    try poster.settle()
    for reader in readers {
      try reader.read(stream.posted, of: stream.posted)
      #expect(reader.tally.total == stream.posted && reader.tally.received > 0)
      try reader.expectSilence()
    }
    #expect(readers.contains { $0.tally.lost > 0 })
  }
}
