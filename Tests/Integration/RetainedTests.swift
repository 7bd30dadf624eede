// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Retained notifications on the bus", .timeLimit(.minutes(15)))
struct RetainedTests {
  private func retain(_ count: Int, by client: RawClient) throws {
    let text = String(repeating: "x", count: 50_000)
    for number in 0..<count {
      try client.sendConfirmed(Post(options: .retain), serial: 1, name: "a.n\(number)", text: text)
    }
  }

  private func names(_ client: RawClient) throws -> [String] {
    try client.list(List(.retained)).compactMap {
      if case .retained(let entry) = $0 { entry.name } else { nil }
    }
  }

  @Test("endless names use no more than the limit, and other clients are served", arguments: [1, 120])
  func namesWithoutEnd(tokenCount: Int) throws {
    let bus = try TestBus(configuration: "[Notifications]\nRetainedMax=4M\n")
    let other = try RawClient.greeted(bus)
    let client = try RawClient.greeted(bus)
    try client.settle()
    let before = try bus.privateMemory()
    let tail = String(repeating: ".x", count: tokenCount - 1)
    let blockLength = 2000
    var refused = 0
    for block in 0..<(tokenCount == 1 ? 100 : 20) {
      try client.send {
        for index in 0..<blockLength {
          $0.appendFrame(
            Post(options: .retain), serial: 1, name: "n\(block * blockLength + index)\(tail)", text: "1")
        }
      }
      try other.expectSilence()
      refused += try client.countAnswers()
    }
    #expect(refused > 0)
    #expect(try bus.privateMemory() - before < 20 * 1024)
    let kept = try names(other)
    #expect(kept.count > 100)
    try other.send(Observe(options: .retained), serial: 2)
    #expect(try other.next().kind == .ok)
    for _ in kept { #expect(try other.next().kind == .retained) }
    try other.sendConfirmed(Cancel(target: 2), serial: 3)
    for name in kept { try other.send(Post(options: .retain), serial: 4, name: name) }
    #expect(try names(other).isEmpty)
  }

  @Test("a long snapshot takes little memory, and reaches a slow reader whole, with later changes behind it")
  func longSnapshot() throws {
    let count = Seeds.isLong ? 1_000_000 : 40_000
    let bus = try TestBus(configuration: "[Bus]\nLogMax=1G\n[Notifications]\nRetainedMax=1G\n")
    let (poster, reader) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    func retain(_ numbers: some Sequence<Int>, _ text: String) throws {
      for number in numbers {
        try poster.send(Post(options: .retain), serial: 0, name: "a.b", object: "\(number)", text: text)
      }
      try poster.settle()
    }
    let old = String(repeating: "x", count: 100)
    try retain(0..<count, old)
    let before = try bus.privateMemory()
    try reader.send(Room(limit: 100), serial: 0)
    try reader.send(Observe(options: .retained), serial: 1, name: "a.b")
    #expect(try reader.next(.ok).decode(Okay.self).retained == UInt32(count))
    var next = 0
    func read(upTo end: Int) throws {
      while next < end {
        let frame = try reader.next(.retained)
        try #require(frame.object == "\(next)" && frame.payload == old)
        next += 1
      }
    }
    try read(upTo: 50)
    let changed = stride(from: 0, to: count, by: count / 100)
    try retain(changed, "new")
    // The snapshot refers to each notification, in a few words; a copy would take over 150 bytes.
    #expect(try bus.privateMemory() - before < (4 << 10) + count / 32)
    try reader.send(Room(limit: UInt64(2 * count)), serial: 0)
    try read(upTo: count)
    for number in changed {
      let frame = try reader.next(.post)
      #expect(frame.object == "\(number)" && frame.payload == "new")
    }
    try reader.expectSilence()
  }

  @Test("a thousand snapshots for a client that does not read take little memory, and are sent once it reads")
  func snapshotsUnread() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\n")
    let poster = try RawClient.greeted(bus)
    let keptCount = 30
    try retain(keptCount, by: poster)
    let client = try RawClient.greeted(bus)
    let watcher = try RawClient.greeted(bus)
    try watcher.observeMilestones(serial: 1)
    let before = try bus.privateMemory()
    let count = 1000
    try client.send {
      for serial in 1...Serial(count) {
        $0.appendFrame(Observe(options: .retained), serial: serial, name: "a.**")
      }
    }
    try client.passMilestone()
    try watcher.awaitMilestone()
    #expect(try bus.privateMemory() - before < 8 * 1024)
    var (answered, retained) = (0, 0)
    while answered < count || retained < count * keptCount {
      let frame = try client.next()
      switch frame.kind {
      case .retained: retained += 1
      case .lost: retained += Int(try frame.decode(Lost.self).count)
      case .ok:
        #expect(try frame.decode(Okay.self).retained == UInt32(keptCount))
        answered += 1
      default: Issue.record("a frame of kind \(frame.header.rawKind)")
      }
    }
  }

  @Test("unread snapshots use no more memory than all queues may")
  func manyUnread() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\nMemoryMax=4M\n")
    let poster = try RawClient.greeted(bus)
    try retain(30, by: poster)
    let clients = try (0..<30).map { _ in try RawClient.greeted(bus) }
    try poster.observeMilestones(serial: 2)
    try poster.expectSilence()
    let before = try bus.privateMemory()
    for client in clients {
      try client.send(Observe(options: .retained), serial: 1, name: "a.**")
      try client.passMilestone()
    }
    for _ in clients { try poster.awaitMilestone() }
    #expect(try bus.privateMemory() - before < 10 * 1024)
    for client in clients {
      #expect(try client.next().kind == .ok)
      var count = 0
      while count < 30 {
        let frame = try client.next()
        count += frame.kind == .lost ? Int(try frame.decode(Lost.self).count) : 1
      }
    }
  }
}

extension RawClient {
  fileprivate func countAnswers() throws -> Int {
    try send(Post(), serial: .max, flags: .acknowledge, name: "test.settled")
    var count = 0
    while true {
      let frame = try next()
      if frame.kind == .ok { return count }
      count += 1
    }
  }
}
