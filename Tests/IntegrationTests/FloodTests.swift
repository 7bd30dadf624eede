// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Too much of everything, and those who stop in the middle: memory is bounded, everyone else is served, and what is
/// received and what is told lost are together what was posted.
@Suite("Floods", .timeLimit(.minutes(1)))
struct FloodTests {
  private static let configuration = "[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\nPaceMaxSec=5ms\n"
  /// KiB that the daemon may grow by.
  private static let slack = 6 * 1024

  /// Has a query answered, which shows that the bus serves others.
  private static func converse(_ asker: RawClient, _ delegate: RawClient, serial: Serial) throws {
    try asker.send(Ask(), serial: serial, name: "a.shouldB")
    try delegate.answer(delegate.nextQuestion().question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
  }

  private static func conversation(on bus: TestBus) throws -> (asker: RawClient, delegate: RawClient) {
    let pair = (asker: try RawClient.greeted(bus), delegate: try RawClient.greeted(bus))
    try pair.delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    return pair
  }

  private static func observer(on bus: TestBus, of pattern: String = "load.*") throws -> RawClient {
    let observer = try RawClient.greeted(bus)
    try observer.observe(pattern, serial: 1)
    return observer
  }

  @Test("a flood from one poster, at one that reads and one that does not, keeps nobody from being served")
  func onePoster() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (asker, delegate) = try Self.conversation(on: bus)
    let (reading, stopped) = (try Self.observer(on: bus), try Self.observer(on: bus))
    let stream = PostStream(try RawClient.greeted(bus))
    let quiet = PostStream(try RawClient.greeted(bus), name: "quiet.unit")
    let quietObserver = try Self.observer(on: bus, of: "quiet.*")
    try Self.converse(asker, delegate, serial: 1)
    let before = try bus.privateMemory()
    var tally = Tally()
    for round in 0..<200 {
      try stream.fill()
      try Self.converse(asker, delegate, serial: Serial(round + 2))
      // Who posts little loses nothing, whatever others post.
      try quiet.post(1)
      #expect(try quietObserver.next().name == "quiet.unit")
      for _ in 0..<20 where tally.total < stream.posted { try tally.add(reading.next()) }
    }
    try reading.read(&tally, to: stream.posted)
    #expect(try bus.privateMemory() - before < Self.slack)
    var other = Tally()
    try stopped.read(&other, to: stream.posted)
    #expect(other.lost > 0)
  }

  @Test("an observer that reads a byte at a time loses, and those that read lose nothing and do not wait")
  func byteByByte() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (healthy, slow) = (try Self.observer(on: bus), try Self.observer(on: bus))
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    try poster.settle()
    let before = try bus.privateMemory()
    var tally = Tally()
    for _ in 0..<300 {
      for _ in 0..<10 { try stream.post(1) }
      while tally.total < stream.posted { try tally.add(healthy.next()) }
      try slow.read(atMost: 1)
    }
    #expect(tally.lost == 0)
    #expect(try bus.privateMemory() - before < Self.slack)
    var slowTally = Tally()
    try slow.read(&slowTally, to: stream.posted)
    #expect(slowTally.lost > 0)
  }

  @Test("frames that are much work leave others their turn between them")
  func muchWork() throws {
    let bus = try TestBus()
    let poster = try RawClient.greeted(bus)
    for number in 0..<10_000 {
      try poster.send(Post(options: .retain), serial: 0, name: "kept.number.n\(number)", text: "x")
    }
    try poster.settle()
    let (greedy, other) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    // All of these come with one read, and each goes through all that is retained.
    let count = 250
    try greedy.send { buffer in
      for serial in 1...count {
        buffer.appendFrame(
          Observe(options: .retained), serial: Serial(serial), name: "**", object: "nobody")
      }
    }
    var between: Int?
    while true {
      let done = try other.busEntry().observations
      if done == count { break }
      if done > 0 { between = Int(done) }
    }
    #expect(between != nil, "somebody else was served in the middle")
    for serial in 1...count { #expect(try greedy.next(.ok).header.serial == Serial(serial)) }
    // The order of what one client sends stays.
    try greedy.send { buffer in
      for serial in 1...count {
        buffer.appendFrame(Cancel(target: Serial(serial)), serial: Serial(1000 + serial))
      }
      buffer.appendFrame(List(.observations, connection: 0), serial: 3000)
    }
    for serial in 1...count { #expect(try greedy.next().header.serial == Serial(1000 + serial)) }
    #expect(try greedy.next().kind == .ok)
  }

  @Test("beside a running stream, observing and taking back in a loop gives exactly what was posted between")
  func subscribingInALoop() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let steady = try Self.observer(on: bus)
    let restless = try RawClient.greeted(bus)
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster, length: 10)
    let patterns = ["load.unit", "load.*", "**", "", "*.unit"]
    var steadyTally = Tally()
    func round(_ index: Int) throws {
      let serial = Serial(3 * index + 10)
      try stream.post(2)
      try poster.settle()
      try restless.observe(patterns[index % patterns.count], serial: serial)
      try stream.post(3)
      try poster.settle()
      try restless.send(Cancel(target: serial), serial: serial + 1)
      var tally = Tally()
      while true {
        let frame = try restless.next()
        if frame.kind == .ok { break }
        // A wildcard also has what the test waits by.
        if frame.name != "test.settled" { try tally.add(frame) }
      }
      #expect(tally.received == 3)
      #expect(tally.lost == 0)
      while steadyTally.total < stream.posted { try steadyTally.add(steady.next()) }
    }
    for index in 0..<100 { try round(index) }
    let before = try bus.privateMemory()
    for index in 100..<1500 { try round(index) }
    #expect(try bus.privateMemory() - before < Self.slack)
    try steady.read(&steadyTally, to: stream.posted)
    #expect(steadyTally.lost == 0)
  }

  @Test("what a flood took is given back when those who did not read have gone")
  func givingBack() throws {
    let bus = try TestBus()
    let departures = try Departures(ofBusAt: bus.path)
    let other = try RawClient.greeted(bus)
    try other.settle()
    let before = try bus.privateMemory()
    var observers: [RawClient] = []
    // Each is queued something of its own, which its queue copies.
    var frames: [UInt8] = []
    for number in 0..<150 {
      observers.append(try Self.observer(on: bus, of: "load.x\(number)"))
      let frame = ByteBuffer(capacity: 1100)
      frame.appendFrame(Post(), serial: 1, name: "load.x\(number)", text: String(repeating: "x", count: 1000))
      frames += [UInt8](frame.bytes)
    }
    let poster = try RawClient.greeted(bus)
    for _ in 0..<900 { try poster.send(frames) }
    try poster.settle()
    let grown = try bus.privateMemory() - before
    #expect(grown > 64 * 1024)

    observers.removeAll()
    try departures.wait(count: 150)
    // It is given back in one of the first moments in which the bus has nothing to do.
    try bus.wait { try bus.privateMemory() - before < grown / 4 }
  }

  @Test("a million distinct names cost no memory, and each arrives or is told lost")
  func distinctNames() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (asker, delegate) = try Self.conversation(on: bus)
    let observer = try Self.observer(on: bus, of: "**")
    let client = try RawClient.greeted(bus)
    // All names are equally long, and differ from block to block in two digits.
    let buffer = ByteBuffer(capacity: 1 << 19)
    for index in 10_000..<20_000 { buffer.appendFrame(Post(), serial: 1, name: "n00.x\(index)") }
    var frames = [UInt8](buffer.bytes)
    let frameLength = frames.count / 10_000
    func post(block: Int) throws {
      let digits = [UInt8(block / 10) + UInt8(ascii: "0"), UInt8(block % 10) + UInt8(ascii: "0")]
      for start in stride(from: FrameHeader.length + 1, to: frames.count, by: frameLength) {
        frames.replaceSubrange(start..<start + 2, with: digits)
      }
      try client.send(frames)
    }
    // All tables are full then.
    try post(block: 0)
    let before = try bus.privateMemory()
    var tally = Tally()
    for block in 1..<100 {
      try post(block: block)
      if block.isMultiple(of: 10) { try Self.converse(asker, delegate, serial: Serial(block)) }
      for _ in 0..<100 { try tally.add(observer.next()) }
    }
    #expect(try bus.privateMemory() - before < Self.slack)
    while tally.total < 1_000_000 { try tally.add(observer.next()) }
    #expect(tally.total == 1_000_000)
    #expect(tally.lost > 0)
  }

  @Test("retained names without end are refused past the user's room, and what was kept before stays")
  func retainedNames() throws {
    let bus = try TestBus(configuration: Self.configuration + "[Notifications]\nRetainedUserMax=256K\n")
    let (asker, delegate) = try Self.conversation(on: bus)
    let observer = try Self.observer(on: bus)
    let client = try RawClient.greeted(bus)
    var tally = Tally()
    var (accepted, refused) = (0, 0)
    func post(_ numbers: Range<Int>, text: String = "1") throws {
      for number in numbers {
        try client.send(
          Post(options: .retain), serial: Serial(number), flags: .acknowledge, name: "load.x\(number)",
          text: text)
      }
      for _ in numbers {
        let answer = try client.next()
        if answer.kind == .ok {
          accepted += 1
        } else {
          #expect(try answer.decode(Refusal.self).code == .limitExceeded)
          refused += 1
        }
      }
      while tally.total < accepted { try tally.add(observer.next()) }
    }
    try post(10_000..<12_000)
    let before = try bus.privateMemory()
    for block in 12..<30 {
      try post(block * 1_000..<(block + 1) * 1_000)
      try Self.converse(asker, delegate, serial: Serial(block))
    }
    #expect(try bus.privateMemory() - before < Self.slack)
    #expect(accepted + refused == 20_000)
    #expect(accepted > 0 && refused > 0)
    #expect(try client.list(List(.retained)).count == accepted)

    let late = try RawClient.greeted(bus)
    try late.send(Observe(options: .retained), serial: 1, name: "load.*")
    for number in 0..<accepted { #expect(try late.next(.retained).name == "load.x\(10_000 + number)") }
    _ = try late.next(.ok)

    // What is cleared makes room for another.
    let kept = accepted
    try post(10_000..<10_001, text: "")
    try post(30_000..<30_002)
    #expect(accepted == kept + 2)
    #expect(try client.list(List(.retained)).count == kept)
    try observer.read(&tally, to: accepted)
    #expect(tally.lost == 0)
  }

  @Test(
    "what is posted to somebody who stays suspended takes bounded memory, and is told as lost on resuming",
    arguments: TribuneWire.SuspensionBehavior.allCases)
  func suspended(_ behavior: TribuneWire.SuspensionBehavior) throws {
    let bus = try TestBus(configuration: Self.configuration + "[Notifications]\nHeldMax=256K\n")
    let (asker, delegate) = try Self.conversation(on: bus)
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: behavior), serial: 1, name: "load.*")
    try observer.send(Suspend(isSuspended: true), serial: 2)
    for _ in 1...2 { _ = try observer.next(.ok) }
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster)
    var tally = Tally()
    func post(_ count: Int) throws {
      try stream.post(count)
      try poster.settle()
      if behavior == .deliverImmediately {
        while tally.total < stream.posted { try tally.add(observer.next()) }
      }
    }
    try post(20)
    let before = try bus.privateMemory()
    for round in 0..<500 {
      try post(20)
      if round.isMultiple(of: 50) { try Self.converse(asker, delegate, serial: Serial(round + 1)) }
    }
    #expect(try bus.privateMemory() - before < Self.slack)

    try observer.send(Suspend(isSuspended: false), serial: 3)
    while true {
      let frame = try observer.next()
      if frame.kind == .ok { break }
      try tally.add(frame)
    }
    switch behavior {
    case .drop: #expect((tally.received, tally.lost) == (0, 0))
    case .coalesce: #expect((tally.received, tally.lost) == (1, 0))
    case .hold:
      #expect(tally.total == stream.posted)
      #expect(tally.received > 0 && tally.lost > 0)
    case .deliverImmediately: #expect((tally.received, tally.lost) == (stream.posted, 0))
    }
    try observer.expectSilence()
  }

  @Test(
    "whoever is stopped and goes on, poster, observer or bus, neither more nor less arrives than was posted")
  func stopping() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (asker, delegate) = try Self.conversation(on: bus)
    let program = try bus.staying("--json=short", "observe", "load.*")
    let observer = try Self.observer(on: bus)
    let client = try RawClient.greeted(bus)
    let stream = PostStream(client)
    let before = try bus.privateMemory()
    let byProgram = 20
    let loop = "i=0; while [ $i -lt \(byProgram) ]; do \"$0\" post load.program; i=$((i+1)); done"
    let poster = try RunningProgram(
      ["/bin/sh", "-c", loop, try Programs.path(of: "tribunectl")],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    var tally = Tally()

    // The poster.
    for _ in 0..<byProgram / 2 { try tally.add(observer.next()) }
    try poster.freeze()
    try stream.post(10)
    try Self.converse(asker, delegate, serial: 1)
    poster.signal(SIGCONT)
    #expect(poster.status() == 0)
    try observer.read(&tally, to: byProgram + stream.posted)

    // The observer.
    try program.freeze()
    for _ in 0..<100 {
      try stream.post(20)
      for _ in 0..<20 { try tally.add(observer.next()) }
    }
    try Self.converse(asker, delegate, serial: 2)
    #expect(tally.lost == 0)
    program.signal(SIGCONT)

    // The bus.
    try bus.freeze()
    try stream.fill()
    bus.signal(SIGCONT)
    try Self.converse(asker, delegate, serial: 3)
    try observer.read(&tally, to: byProgram + stream.posted)

    #expect(try bus.privateMemory() - before < Self.slack)
    // The last is not dropped: it is the newest.
    try client.send(Post(), serial: 1, name: "load.end")
    var programTally = (received: 0, lost: 0)
    while let line = try program.output.line(), !line.contains("load.end") {
      if line.hasPrefix("{\"lost\":") {
        programTally.lost += Int(line.filter(\.isNumber)) ?? 0
      } else {
        programTally.received += 1
      }
    }
    #expect(programTally.received + programTally.lost == byProgram + stream.posted)
    #expect(programTally.lost > 0)
  }
}
