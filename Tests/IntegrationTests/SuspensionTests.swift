// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

/// Connections that want no notifications for a while, over the real bus.
@Suite("Suspended connections", .timeLimit(.minutes(1)))
struct SuspensionTests {
  private func suspended(
    on bus: TestBus, _ behavior: SuspensionBehavior, of pattern: String = "a.*"
  ) throws -> (client: RawClient, welcome: Welcome) {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.send(Observe(suspension: behavior), serial: 1, name: pattern)
    _ = try client.next(.ok)
    try client.send(Suspend(isSuspended: true), serial: 2)
    _ = try client.next(.ok)
    return (client, welcome)
  }

  /// What it is sent when it resumes, until that is confirmed.
  private func resume(_ client: RawClient) throws -> [RawClient.Frame] {
    try client.send(Suspend(isSuspended: false), serial: 3)
    var frames: [RawClient.Frame] = []
    while true {
      let frame = try client.next()
      if frame.kind == .ok { return frames }
      frames.append(frame)
    }
  }

  @Test(
    "what is posted meanwhile is treated as the observation wants, run by run or one by one",
    arguments: [
      (SuspensionBehavior.drop, []), (.coalesce, [3, 6, 7]), (.hold, [1, 2, 3, 4, 5, 6, 7]),
      (.deliverImmediately, [1, 2, 3, 4, 5, 6, 7]),
    ] as [(SuspensionBehavior, [Serial])], [true, false])
  func behaviors(_ expected: (behavior: SuspensionBehavior, serials: [Serial]), isRun: Bool) throws {
    let bus = try TestBus()
    let (client, welcome) = try suspended(on: bus, expected.behavior)
    let poster = try RawClient.greeted(bus)
    let names = ["a.b", "a.b", "a.b", "a.c", "a.c", "a.c", "a.b"]
    let objects = ["", "", "", "", "", "", "o"]
    if isRun {
      try poster.send {
        for (index, name) in names.enumerated() {
          $0.appendFrame(Post(), serial: Serial(index + 1), name: name, object: objects[index])
        }
      }
    } else {
      for (index, name) in names.enumerated() {
        try poster.send(Post(), serial: Serial(index + 1), name: name, object: objects[index])
        try poster.settle()
      }
    }
    try poster.settle()
    let entry = try #require(try poster.entry(of: welcome.connection))
    #expect(entry.isSuspended)
    #expect((entry.held > 0) == (expected.behavior == .hold || expected.behavior == .coalesce))
    #expect(try resume(client).map(\.header.serial) == expected.serials)
    try poster.send(Post(), serial: 8, name: "a.b")
    #expect(try client.next().header.serial == 8)
    #expect(try poster.entry(of: welcome.connection)?.isSuspended == false)
  }

  @Test("what is posted immediately brings along what is held, and the connection stays suspended")
  func immediately() throws {
    let bus = try TestBus()
    let (client, _) = try suspended(on: bus, .hold)
    let (dropping, _) = try suspended(on: bus, .drop)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "a.b")
    try poster.send(Post(options: .immediately), serial: 2, name: "a.c")
    try poster.send(Post(), serial: 3, name: "a.b")
    #expect(try [client.next(), client.next()].map(\.header.serial) == [1, 2])
    #expect(try dropping.next().header.serial == 2)
    try poster.settle()
    try client.expectSilence()
    #expect(try resume(client).map(\.header.serial) == [3])
    #expect(try resume(dropping).isEmpty)
  }

  @Test(
    "whoever suspends, resumes and reads when, and however slowly, receives or is told lost what was posted",
    arguments: Array(Seeds.all.prefix(3)))
  func accounts(seed: UInt64) throws {
    let bus = try TestBus(
      configuration:
        "[Queue]\nLowMark=8K\nHighMark=32K\nHardLimit=1M\nPaceMaxSec=1ms\n[Notifications]\nHeldMax=16K\n")
    var random = SplitMix64(seed: seed)
    let observers = try (0..<4).map { index in
      let observer = try RawClient.greeted(bus)
      // Two observations that both match are one copy; one of the four is never held back.
      try observer.send(
        Observe(suspension: index == 0 ? .deliverImmediately : .hold), serial: 1, name: "load.*")
      try observer.send(Observe(suspension: .drop), serial: 2, name: "load.unit")
      _ = try observer.next(.ok)
      _ = try observer.next(.ok)
      return observer
    }
    var tallies = observers.map { _ in Tally() }
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    var immediateCount = 0
    for _ in 0..<300 {
      let index = Int.random(in: 0..<observers.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: try observers[index].send(Suspend(isSuspended: true), serial: 3)
      case 1: try observers[index].send(Suspend(isSuspended: false), serial: 3)
      case 2:
        try poster.send(Post(options: .immediately), serial: 1, name: "load.unit", text: "now")
        immediateCount += 1
      case 3...4: try stream.post(Int.random(in: 1...30, using: &random))
      default:
        // The last one does not read until the end.
        guard index < 3 else { continue }
        while tallies[index].total < (stream.posted + immediateCount) / 2 {
          // A suspended one may be sent nothing for as long as it is.
          try observers[index].send(Suspend(isSuspended: false), serial: 4)
          while true {
            let frame = try observers[index].next()
            try tallies[index].add(frame)
            if frame.kind == .ok, frame.header.serial == 4 { break }
          }
          try poster.settle()
        }
      }
    }
    try poster.settle()
    for (index, observer) in observers.enumerated() {
      try observer.send(Suspend(isSuspended: false), serial: 5)
      while true {
        let frame = try observer.next()
        try tallies[index].add(frame)
        if frame.kind == .ok, frame.header.serial == 5 { break }
      }
      #expect(tallies[index].total == stream.posted + immediateCount, "observer \(index)")
      try observer.expectSilence()
    }
    #expect(tallies[3].lost > 0)
    let lost = tallies.reduce(0) { $0 + $1.lost }
    #expect(try poster.busEntry().lost == UInt64(lost))
  }

  @Test("two hundred that are suspended for ever hold no more than there is memory for, and all is counted")
  func manySuspended() throws {
    // All together have a quarter of that, or what one may hold.
    let bus = try TestBus(configuration: "[Queue]\nMemoryMax=16M\n[Notifications]\nHeldMax=1M\n")
    let clients = try (0..<200).map { _ in try suspended(on: bus, .hold, of: "load.*").client }
    let poster = try RawClient.greeted(bus)
    let before = try bus.privateMemory()
    let stream = PostStream(poster)
    for _ in 0..<20 {
      try stream.post(10)
      try poster.settle()
    }
    #expect(try bus.privateMemory() - before < 16 * 1024)
    var lost = 0
    for client in clients {
      var tally = Tally()
      for frame in try resume(client) { try tally.add(frame) }
      #expect(tally.total == stream.posted)
      #expect(tally.received > 0)
      lost += tally.lost
    }
    #expect(lost > 0)
  }
}
