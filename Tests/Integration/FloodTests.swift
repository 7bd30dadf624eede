// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Floods", .timeLimit(.minutes(15)))
struct FloodTests {
  private static let configuration = "[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\nPaceMaxSec=5ms\n"
  /// KiB of growth.
  private static let slack = 6 * 1024

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

  private static func suspended(
    on bus: TestBus, _ behavior: TribuneWire.SuspensionBehavior
  ) throws -> RawClient {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: behavior), serial: 1, name: "load.*")
    try observer.send(Suspend(isSuspended: true), serial: 2)
    for _ in 1...2 { _ = try observer.next(.ok) }
    return observer
  }

  private static func resume(_ observer: RawClient, _ tally: inout Tally) throws {
    try observer.send(Suspend(isSuspended: false), serial: 3)
    while case let frame = try observer.next(), frame.kind != .ok { try tally.add(frame) }
  }

  @Test("a flood to one observer that reads and one that does not delays no other client")
  func onePoster() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (asker, delegate) = try Self.conversation(on: bus)
    let reading = try RawClient.observing("load.*", on: bus)
    let stopped = try RawClient.observing("load.*", on: bus)
    let stream = PostStream(try RawClient.greeted(bus))
    let quiet = PostStream(try RawClient.greeted(bus), name: "quiet.unit")
    let quietObserver = try RawClient.observing("quiet.*", on: bus)
    try Self.converse(asker, delegate, serial: 1)
    let before = try bus.privateMemory()
    var tally = Tally()
    for round in 0..<200 {
      try stream.fill()
      try Self.converse(asker, delegate, serial: Serial(round + 2))
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

  @Test("an observer that reads byte by byte loses posts; one that keeps up neither loses nor waits")
  func byteByByte() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let healthy = try RawClient.observing("load.*", on: bus)
    let slow = try RawClient.observing("load.*", on: bus)
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

  @Test("other clients are served between one client's expensive frames")
  func muchWork() throws {
    let bus = try TestBus()
    let poster = try RawClient.greeted(bus)
    for number in 0..<10_000 {
      try poster.send(Post(options: .retain), serial: 0, name: "kept.number.n\(number)", text: "x")
    }
    try poster.settle()
    let (greedy, other) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    let count = 250
    try greedy.send { buffer in
      for serial in 1...count {
        buffer.appendFrame(Observe(options: .retained), serial: Serial(serial), name: "**", object: "nobody")
      }
    }
    var between: Int?
    while true {
      let done = try other.busEntry().observations
      if done == count { break }
      if done > 0 { between = Int(done) }
    }
    #expect(between != nil, "the bus served another client in between")
    for serial in 1...count { #expect(try greedy.next(.ok).header.serial == Serial(serial)) }
    try greedy.send { buffer in
      for serial in 1...count {
        buffer.appendFrame(Cancel(target: Serial(serial)), serial: Serial(1000 + serial))
      }
      buffer.appendFrame(List(.observations, connection: 0), serial: 3000)
    }
    for serial in 1...count { #expect(try greedy.next().header.serial == Serial(1000 + serial)) }
    #expect(try greedy.next().kind == .ok)
  }

  enum Work: CaseIterable {
    case posts
    case lists

    var bytes: [UInt8] {
      RawClient.bytes {
        switch self {
        case .posts:
          let text = "{\"x\": [1" + String(repeating: ", 1", count: 16_000) + "]}"
          let padding = String(repeating: " ", count: 1_000_000 - text.utf8.count)
          $0.appendFrame(Post(), serial: 1, name: "a.didB", object: "o", text: text + padding)
        case .lists:
          $0.appendFrame(List(.retained), serial: 1)
          $0.appendFrame(Post(), serial: 2, name: "a.didList")
        }
      }
    }
  }

  @Test(
    "one user's heavy work, on any number of connections, leaves turns to another user",
    arguments: Work.allCases)
  func users(_ work: Work) throws {
    let folder = try TestFolder()
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/all.policy")
    try folder.write("protocol P { optional did a.didB (x: []int) }\n", to: "etc/protocols.d/p.protocol")
    let bus = try TestBus(
      configuration: "[Bus]\nFrameTimeoutSec=10min\n[Object \"o\"]\nProtocol=P\n", folder: folder)
    let root = try RawClient.greeted(bus)
    try root.retain(4000, as: "kept.number", text: "x")
    let greedy = try (0..<110).map { _ in try RawClient.greeted(bus, as: 65_534) }
    let other = try RawClient.greeted(bus, as: 65_533)
    // Withhold the last byte of posts that do not fit the socket until the bus stops for a moment.
    let bytes = work.bytes
    let early = work == .posts ? bytes.count - 1 : 0
    for client in greedy { try client.send(Array(bytes[..<early])) }
    try root.settle()
    let before = try root.busEntry().posted
    try bus.freeze()
    for client in greedy { try client.send(Array(bytes[early...])) }
    try other.send(List(.bus), serial: 1)
    bus.signal(SIGCONT)
    guard case .bus(let entry) = try other.next(.entry).decode(Entry.self) else {
      throw Programs.Missing(description: "the bus lists something else")
    }
    #expect(entry.posted - before < greedy.count / 2, "\(entry.posted - before)")
    for client in greedy { try client.settle() }
    #expect(try root.busEntry().posted - before == 2 * greedy.count)
  }

  @Test("one user's long Varlink calls, on any number of connections, leave turns to another user")
  func varlinkCalls() throws {
    let folder = try TestFolder()
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/all.policy")
    let bus = try TestBus.withVarlink(in: folder)
    let greedy = try (0..<100).map { _ in try VarlinkClient(bus, as: 65_534) }
    let other = try RawClient.greeted(bus, as: 65_533)
    for client in greedy { #expect(try client.call("org.varlink.service.GetInfo").error == nil) }
    let numbers = String(repeating: ",1234", count: 14_500)
    try bus.freeze()
    for client in greedy {
      try client.send("Tell", "{\"name\":\"a.didB\",\"userInfo\":{\"x\":[1\(numbers)]}}")
    }
    try other.send(List(.bus), serial: 1)
    bus.signal(SIGCONT)
    guard case .bus(let entry) = try other.next(.entry).decode(Entry.self) else {
      throw Programs.Missing(description: "the bus lists something else")
    }
    #expect(entry.posted < greedy.count / 2, "\(entry.posted)")
    for client in greedy { #expect(try client.next().error == nil) }
    #expect(try RawClient.greeted(bus).busEntry().posted == greedy.count)
  }

  @Test(
    "a question, its answer and its verdict come before the lists of many users",
    arguments: [(100, 4000), (1500, 200)] as [(UInt32, Int)])
  func listsOfManyUsers(userCount: UInt32, retainedCount: Int) throws {
    try TribuneSystem.ThisProcess.raiseDescriptorLimit()
    let bus = try TestBus.allowingAll()
    let (asker, delegate) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try asker.retain(retainedCount, as: "kept.number", text: "x")
    try delegate.attach(Attach(failurePolicy: .abstain, patterns: ["a.shouldB"]), serial: 1)
    let users = try (0..<userCount).map { try RawClient.greeted(bus, as: 60_000 + $0) }
    let before = try asker.busEntry().posted
    try bus.freeze()
    for user in users {
      try user.send { buffer in
        buffer.appendFrame(List(.retained), serial: 1)
        buffer.appendFrame(Post(), serial: 2, name: "a.didList")
      }
    }
    try asker.send(Ask(), serial: 1, name: "a.shouldB")
    bus.signal(SIGCONT)
    try delegate.answer(delegate.nextQuestion().question, .veto)
    #expect(try asker.nextVerdict().verdict == .vetoed)
    let during = try asker.busEntry().posted - before
    #expect(during < users.count / 2, "\(during)")
    for user in users { try user.settle() }
    #expect(try asker.busEntry().posted - before == 2 * users.count)
  }

  @Test("a bus that ends does not answer all lists that wait", arguments: [SIGINT, SIGTERM])
  func endBehindLists(signal: CInt) throws {
    let bus = try TestBus.allowingAll()
    try RawClient.greeted(bus).retain(4000, as: "kept.number", text: "x")
    let clients = try (0..<60).map { try RawClient.greeted(bus, as: 60_000 + $0 % 4) }
    let count: Serial = 500
    try bus.freeze()
    for client in clients {
      try client.send { buffer in
        for serial in 1...count { buffer.appendFrame(List(.retained), serial: serial) }
      }
    }
    bus.signal(signal)
    bus.signal(SIGCONT)
    var answered = 0
    for client in clients {
      try client.readToEnd { if $0.kind != .entry, $0.header.serial > 0 { answered += 1 } }
    }
    #expect(answered < clients.count * Int(count) / 2)
    #expect(bus.status() == 0)
  }

  @Test("the bus frees a flood's memory when the observers that did not read leave")
  func givingBack() throws {
    let bus = try TestBus()
    let departures = try Departures(ofBusAt: bus.path)
    let other = try RawClient.greeted(bus)
    try other.settle()
    let before = try bus.privateMemory()
    var observers: [RawClient] = []
    var frames: [UInt8] = []
    for number in 0..<150 {
      observers.append(try RawClient.observing("load.x\(number)", on: bus))
      frames += RawClient.bytes {
        $0.appendFrame(Post(), serial: 1, name: "load.x\(number)", text: String(repeating: "x", count: 1000))
      }
    }
    let poster = try RawClient.greeted(bus)
    for _ in 0..<900 { try poster.send(frames) }
    try poster.settle()
    let grown = try bus.privateMemory() - before
    #expect(grown > 64 * 1024)

    // The bus finds all of them gone at once. If a few were left, it would keep their small memory for them.
    try bus.freeze()
    observers.removeAll()
    bus.signal(SIGCONT)
    try departures.wait(count: 150)
    try bus.wait { try bus.privateMemory() - before < grown / 4 }
  }

  @Test("a million distinct names cost no memory, and each arrives or is reported as lost")
  func distinctNames() throws {
    let bus = try TestBus(configuration: Self.configuration)
    let (asker, delegate) = try Self.conversation(on: bus)
    let observer = try RawClient.observing("**", on: bus)
    let client = try RawClient.greeted(bus)
    var frames = RawClient.bytes {
      for index in 10_000..<20_000 { $0.appendFrame(Post(), serial: 1, name: "n00.x\(index)") }
    }
    let frameLength = frames.count / 10_000
    func post(block: Int) throws {
      let digits = [UInt8(block / 10) + UInt8(ascii: "0"), UInt8(block % 10) + UInt8(ascii: "0")]
      for start in stride(from: FrameHeader.length + 1, to: frames.count, by: frameLength) {
        frames.replaceSubrange(start..<start + 2, with: digits)
      }
      try client.send(frames)
    }
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

  @Test(
    "posts to a suspended observer take bounded memory, and it learns of losses when it resumes",
    arguments: TribuneWire.SuspensionBehavior.allCases)
  func suspended(_ behavior: TribuneWire.SuspensionBehavior) throws {
    let bus = try TestBus(configuration: Self.configuration + "[Notifications]\nBufferMax=256K\n")
    let (asker, delegate) = try Self.conversation(on: bus)
    let observer = try Self.suspended(on: bus, behavior)
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

    try Self.resume(observer, &tally)
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

  @Test("two hundred suspended observers take bounded memory together, and every post is counted")
  func manySuspended() throws {
    // Together they may take their user's share of MemoryMax, which is all of it for the bus's user.
    let bus = try TestBus(configuration: "[Queue]\nMemoryMax=8M\n[Notifications]\nBufferMax=1M\n")
    let clients = try (0..<200).map { _ in try Self.suspended(on: bus, .hold) }
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
      try Self.resume(client, &tally)
      #expect(tally.total == stream.posted)
      #expect(tally.received > 0)
      lost += tally.lost
    }
    #expect(lost > 0)
    #expect(try poster.busEntry().lost == UInt64(lost))
  }
}
