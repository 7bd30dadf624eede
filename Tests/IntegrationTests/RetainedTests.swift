// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// What the bus keeps for those who come later: how much that may be, and who may ask for it.
@Suite("Retained notifications on the bus", .timeLimit(.minutes(1)))
struct RetainedTests {
  /// Retains, and says whether it was refused.
  private func retain(
    _ name: String, object: String = "", _ text: String, by client: RawClient, serial: Serial = 1
  ) throws -> ErrorCode? {
    try client.send(
      Post(options: .retain), serial: serial, flags: .acknowledge, name: name, object: object, text: text)
    let frame = try client.next()
    return frame.kind == .error ? try frame.decode(Refusal.self).code : nil
  }

  private func names(_ client: RawClient) throws -> [String] {
    try client.list(List(.retained)).compactMap {
      if case .retained(let entry) = $0 { entry.name } else { nil }
    }
  }

  @Test(
    "names without end take the room that there is and no more, and everyone else is served",
    arguments: [1, 120])
  func namesWithoutEnd(tokenCount: Int) throws {
    let bus = try TestBus(configuration: "[Notifications]\nRetainedUserMax=4M\nRetainedMax=4M\n")
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
      refused += try client.discardAnswers()
    }
    #expect(refused > 0)
    #expect(try bus.privateMemory() - before < 20 * 1024)
    // Who asks for all of it is given what there is, and it can all be cleared.
    let kept = try names(other)
    #expect(kept.count > 100)
    try other.send(Observe(options: .retained), serial: 2)
    for _ in kept { #expect(try other.next().kind == .retained) }
    #expect(try other.next().kind == .ok)
    try other.sendConfirmed(Cancel(target: 2), serial: 3)
    for name in kept { try other.send(Post(options: .retain), serial: 4, name: name) }
    #expect(try names(other).isEmpty)
  }

  @Test("a thousand snapshots asked for at once by who does not read are few, and the others are refused")
  func snapshotsUnread() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\n")
    let poster = try RawClient.greeted(bus)
    let keptCount = 30
    let text = String(repeating: "x", count: 50_000)
    for number in 0..<keptCount {
      #expect(try retain("a.n\(number)", text, by: poster) == nil)
    }
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
    // It has read: now there is room again.
    try client.send(Observe(options: .retained), serial: 6000, name: "a.n1")
    #expect(try client.next().kind == .retained)
    #expect(try client.next().kind == .ok)
  }

  @Test("a snapshot that is not read costs nobody else anything, and what is dropped of it is told")
  func snapshotUnread() throws {
    let bus = try TestBus(
      configuration:
        "[Queue]\nLowMark=16K\nHighMark=64K\nPaceMaxSec=1ms\n[Notifications]\nRetainedUserMax=8M\n")
    let poster = try RawClient.greeted(bus)
    let keptCount = 100
    let text = String(repeating: "x", count: 50_000)
    for number in 0..<keptCount { #expect(try retain("a.n\(number)", text, by: poster) == nil) }
    let (client, welcome) = try RawClient.welcomed(bus)
    let watcher = try RawClient.greeted(bus)
    try watcher.observeMilestones(serial: 1)
    try client.send(Observe(options: .retained), serial: 1, name: "a.**")
    try client.passMilestone()
    try watcher.awaitMilestone()
    let stream = PostStream(poster, name: "a.unit")
    while try poster.entry(of: welcome.connection)?.isLossy == false {
      try stream.post(1)
      try poster.settle()
    }
    var (snapshot, changes, lost) = (0, 0, 0)
    while snapshot + changes + lost < keptCount + stream.posted {
      let frame = try client.next()
      switch frame.kind {
      case .retained: snapshot += 1
      case .post: changes += 1
      case .lost: lost += Int(try frame.decode(Lost.self).count)
      default: #expect(frame.kind == .ok)
      }
    }
    #expect(snapshot + changes + lost == keptCount + stream.posted)
    #expect(lost > 0)
    try client.expectSilence()
  }

  @Test("who asks for snapshots and does not read them takes no more memory than all queues may have")
  func manyUnread() throws {
    let bus = try TestBus(
      configuration: "[Queue]\nLowMark=16K\nHighMark=64K\nMemoryMax=4M\n")
    let poster = try RawClient.greeted(bus)
    let text = String(repeating: "x", count: 50_000)
    for number in 0..<30 { #expect(try retain("a.n\(number)", text, by: poster) == nil) }
    let clients = try (0..<30).map { _ in try RawClient.greeted(bus) }
    try poster.observeMilestones(serial: 2)
    try poster.expectSilence()
    let before = try bus.privateMemory()
    for client in clients {
      try client.send(Observe(options: .retained), serial: 1, name: "a.**")
      try client.passMilestone()
    }
    for _ in clients { try poster.awaitMilestone() }
    let grown = try bus.privateMemory() - before
    #expect(grown < 10 * 1024)
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
  /// Takes all answers that have come until the bus has taken all that was sent, and looks only at how much that is.
  ///
  /// - Returns: how many bytes those were that came before.
  fileprivate func discardAnswers() throws -> Int {
    try send(Post(), serial: .max, flags: .acknowledge, name: "test.settled")
    var count = 0
    while true {
      let frame = try next()
      if frame.kind == .ok { return count }
      count += 1
    }
  }
}
