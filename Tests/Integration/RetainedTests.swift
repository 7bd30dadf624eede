// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
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
    for _ in kept { #expect(try other.next().kind == .retained) }
    #expect(try other.next().kind == .ok)
    try other.sendConfirmed(Cancel(target: 2), serial: 3)
    for name in kept { try other.send(Post(options: .retain), serial: 4, name: name) }
    #expect(try names(other).isEmpty)
  }

  @Test("most of a thousand simultaneous snapshots for a client that does not read are refused")
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
    try client.send(Suspend(isSuspended: false), serial: 5000)
    try client.passMilestone()
    try watcher.awaitMilestone()
    #expect(try bus.privateMemory() - before < 8 * 1024)
    var (answered, refused, pending) = (0, 0, 0)
    while true {
      let frame = try client.next()
      if frame.header.serial == 5000 { break }
      switch frame.kind {
      case .retained: pending += 1
      case .ok:
        #expect(pending == keptCount, "a snapshot is whole")
        answered += 1
        pending = 0
      case .error:
        #expect(try frame.decode(Refusal.self).code == .limitExceeded)
        #expect(pending == 0)
        refused += 1
      default: Issue.record("a frame of kind \(frame.header.rawKind)")
      }
    }
    #expect(answered + refused == count)
    #expect(answered > 0 && refused > 0)
    try client.send(Observe(options: .retained), serial: 6000, name: "a.n1")
    #expect(try client.next().kind == .retained)
    #expect(try client.next().kind == .ok)
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
      var (snapshot, lost) = (0, 0)
      while true {
        let frame = try client.next()
        if frame.kind == .ok { break }
        if frame.kind == .retained { snapshot += 1 }
        if frame.kind == .lost { lost += Int(try frame.decode(Lost.self).count) }
      }
      #expect(snapshot + lost == 30)
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
