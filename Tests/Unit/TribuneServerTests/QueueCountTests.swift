// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("The counts of an outbound queue, and its hand-over", .timeLimit(.minutes(15)))
struct QueueCountTests {
  @Test(
    "Under random operations, a queue counts the reader's missing frames, and can be handed over",
    arguments: Seeds.all)
  func simulation(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let pool = BufferPool(bufferCapacity: 2_048, keptMax: 2)
    var traffic = QueuedTraffic()
    traffic.queueHello()
    for number in 0..<1500 {
      switch Int.random(in: 0..<14, using: &random) {
      case 0...1: traffic.queue(.post, number, payloadLength: random.oneIn(20) ? 9000 : number % 60)
      case 2...4: traffic.queueRun(number, count: Int.random(in: 1...6, using: &random))
      case 5: traffic.queue(.verdict, number)
      case 6: traffic.queueCut(number, payloadLength: random.oneIn(2) ? 1100 : 8200)
      case 7:
        traffic.startNewBuffer()
        traffic.pool = Bool.random(using: &random) ? pool : nil
      case 8: traffic.queue.consolidate(with: pool)
      case 9: traffic.queue.dropOldest(downTo: Int.random(in: 0...traffic.queue.byteCount, using: &random))
      case 10: if random.oneIn(3) { traffic.queue.appendLost(UInt64(number)) }
      case 11:
        let (waiting, lost) = (traffic.unsent, traffic.queue.lostCount)
        try traffic.handOver()
        try #require(traffic.unsent == waiting && traffic.queue.lostCount == lost)
      default: traffic.send(Int.random(in: 1...(random.oneIn(5) ? 20_000 : 200), using: &random))
      }
      try #require(traffic.counted == traffic.unread, "after step \(number)")
      traffic.forgetRead()
      try #require(traffic.queue.byteCount == traffic.unsent.count)
    }
  }

  @Test("A queue without frames after the last sent one hands over nothing empty")
  func dropsBehindSent() throws {
    var traffic = QueuedTraffic()
    traffic.queueRun(0, count: 3)
    traffic.send(traffic.queue.byteCount / 3)
    traffic.queue.dropOldest(downTo: traffic.queue.byteCount / 2)
    try traffic.handOver()
    #expect(traffic.received == ["0", "lost 1", "2"])
  }

  @Test("Invalid frames of a hand-over are refused, and not queued")
  func refusals() throws {
    let (post, lost) = (ByteBuffer(capacity: 0), ByteBuffer(capacity: 0))
    post.appendFrame(Post(), serial: 1, name: "a")
    lost.appendFrame(Lost(count: 3), serial: 0)
    let bad: [(WaitingFrames.Kind, ByteBuffer, Int, UInt64)] = [
      (.notifications, ByteBuffer(capacity: 0), 0, 0), (.notifications, post, 0, 2),
      (.notifications, post, -1, 1), (.notifications, post, 34, 1), (.notifications, post, 1, 2),
      (.others, lost, 0, 2), (.lost, post, 0, 1), (.lost, lost, 0, 4), (.lost, lost, 3, 3),
      (.lost, lost, 40, .max),
    ]
    for (kind, bytes, partialCount, count) in bad {
      var queue = OutboundQueue()
      let part = WaitingFrames(
        kind: kind, slice: ByteSlice(bytes, 0..<bytes.count), partialCount: partialCount, count: count)
      #expect(
        refusal { () throws(WireError) in try queue.restore(part) } != nil, "\(kind) \(partialCount) \(count)"
      )
      #expect(queue.isEmpty && queue.byteCount == 0)
    }
    var queue = OutboundQueue()
    queue.append(ByteSlice(post, 0..<post.count), isNotification: true)
    let part = WaitingFrames(kind: .notifications, slice: ByteSlice(post, 0..<3), partialCount: 3, count: 1)
    #expect(refusal { () throws(WireError) in try queue.restore(part) } == .invalidValue)
    #expect(queue.byteCount == post.count)
  }

  @Test("Damaged bytes are refused, or sent unchanged, and never trap", arguments: [0, 5, 60])
  func spoilt(sent: Int) throws {
    var traffic = QueuedTraffic()
    traffic.queueRun(0, count: 3)
    traffic.queue(.verdict, 3)
    traffic.queue.appendLost(4)
    traffic.queueRun(5, count: 2)
    traffic.send(sent)
    var parts: [WaitingFrames] = []
    traffic.queue.forEachWaiting { parts.append($0) }
    for (index, part) in parts.enumerated() {
      for offset in 0..<part.slice.count {
        for mask: UInt8 in [1, 0x80, 0xFF] {
          var bytes = [UInt8](part.slice.bytes)
          bytes[offset] ^= mask
          try run(parts, index, bytes)
          try run(parts, index, Array(bytes[..<offset]))
        }
      }
    }
  }

  private func run(_ parts: [WaitingFrames], _ place: Int, _ bytes: [UInt8]) throws {
    for drops in [false, true] {
      var traffic = QueuedTraffic()
      var expected: [UInt8] = []
      for (index, part) in parts.enumerated() {
        var part = part
        if index == place {
          let buffer = ByteBuffer(holding: bytes)
          part.slice = ByteSlice(buffer, 0..<buffer.count)
        }
        if refusal({ () throws(WireError) in try traffic.queue.restore(part) }) == nil {
          expected += [UInt8](part.slice.bytes)
        }
      }
      try #require(traffic.queue.unreportedLostCount <= traffic.queue.lostCount)
      if drops { traffic.queue.dropOldest(downTo: 50) } else { try #require(traffic.unsent == expected) }
      while !traffic.queue.isEmpty { traffic.send(3) }
      if !drops { try #require(traffic.sent == expected) }
    }
  }
}
