// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("The share of a user", .timeLimit(.minutes(15)))
struct SharesTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.write("allow * ** user:*\ndeny list ** user:65534\n", to: "etc/policy.d/all.policy")
  }

  private func bus(_ configuration: String) throws -> TestBus {
    try TestBus(configuration: configuration, folder: folder)
  }

  private func accounts(_ program: FinishedProgram, of user: Int) throws -> [String: [String: Any]] {
    var accounts: [String: [String: Any]] = [:]
    for line in program.lines {
      let account = try jsonObject(line)
      if account["uid"] as? Int == user, let resource = account["resource"] as? String {
        accounts[resource] = account
      }
    }
    return accounts
  }

  @Test("is shown to users: their own account, or all to users who may list everything")
  func shown() throws {
    let bus = try bus("[User \"65533\"]\nShare=3\n")
    let (nobody, other) = (
      try OtherUser(65_534, on: bus.address, in: folder), try OtherUser(65_533, on: bus.address, in: folder)
    )
    let observer = try nobody.staying("observe", "a.**")
    let hold = try other.staying("hold", "b.**", "--why=x")
    let own = try nobody.tribunectl("-j", "accounts")
    own.expect(0)
    #expect(try accounts(own, of: 65_533).isEmpty && accounts(own, of: 0).isEmpty)
    #expect(try accounts(own, of: 65_534)["registrations"]?["used"] as? Int == 1)
    let all = try other.tribunectl("-j", "accounts")
    let connections = try accounts(all, of: 65_533)["connections"]
    #expect(connections?["used"] as? Int == 2 && connections?["weight"] as? Int == 3)
    #expect(connections?["privileged"] as? Bool == false && connections?["total"] as? Int == 16_384)
    // Next to the other user's connection: three of five parts, minus a reserved sixteenth.
    #expect(connections?["share"] as? Int == (16_384 - 1024 - 1) * 3 / 5)
    let table = try bus.tribunectl("accounts")
    table.expect(0)
    #expect(table.output.contains("privileged") && table.output.contains("counts as 3"))
    #expect(table.output.contains("3 accounts listed."))
    withExtendedLifetime((observer, hold)) {}
  }

  @Test(
    "includes frames that cannot be dropped: without reads of its verdicts, a user may neither ask nor list"
  )
  func unreadVerdicts() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\n")
    let (deaf, delegate, other) = (
      try RawClient.greeted(bus), try RawClient.greeted(bus), try RawClient.greeted(bus)
    )
    try delegate.attach(Attach(patterns: ["a.size"]), serial: 1)
    let value = "\"" + String(repeating: "x", count: 500_000) + "\""
    let memory = try bus.privateMemory()
    var asked = 0 as Serial
    func isRefused(_ request: some FrameFields, name: String = "") throws -> Bool {
      try other.send(request, serial: 1, name: name)
      var frame = try other.next()
      while frame.kind == .entry { frame = try other.next() }
      guard frame.kind == .error else { return false }
      #expect(try frame.decode(Refusal.self).code == .limitExceeded)
      #expect(frame.payload.contains("unread bytes (MemoryMax=)"))
      return true
    }
    while try !isRefused(List(.bus)) {
      asked += 1
      try #require(asked < 100)
      try deaf.send(Ask(mode: .first), serial: asked, name: "a.size")
      try delegate.answer(try delegate.nextQuestion().question, .value, value)
      try delegate.settle()
    }
    #expect(try isRefused(Ask(mode: .first), name: "a.size"))
    #expect(try bus.privateMemory() - memory < 16 << 10)
    try deaf.send(Ask(mode: .first), serial: asked + 1, name: "a.none")
    try other.send(Post(), serial: 1, flags: .acknowledge, name: "a.b")
    #expect(try other.next(.ok).header.serial == 1)
    for serial in 1...asked + 1 { #expect(try deaf.next(.verdict).header.serial == serial) }
    #expect(try !isRefused(List(.bus)))
  }

  @Test("includes lists: after too many unread ones, the next are refused")
  func unreadLists() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\n")
    let (deaf, observer, other) = (
      try RawClient.greeted(bus), try RawClient.greeted(bus), try RawClient.greeted(bus)
    )
    for serial in 1...1000 as ClosedRange<Serial> { try observer.observe("load.n\(serial)", serial: serial) }
    let memory = try bus.privateMemory()
    let count = 400 as Serial
    try deaf.send { buffer in
      for serial in 1...count { buffer.appendFrame(List(.observations), serial: serial) }
    }
    for serial in 1...3 * count {
      try other.send(Post(), serial: serial, flags: .acknowledge, name: "a.b")
      #expect(try other.next(.ok).header.serial == serial)
    }
    #expect(try bus.privateMemory() - memory < 16 << 10)
    var kinds: Set<FrameKind?> = []
    var last = 0 as Serial
    while last < count {
      let frame = try deaf.next()
      guard frame.kind != .entry else { continue }
      last = frame.header.serial
      kinds.insert(frame.kind)
    }
    #expect(kinds == [.ok, .error])
    try deaf.send(List(.bus), serial: 1)
    #expect(try deaf.next(.entry).header.serial == 1)
  }

  @Test(
    "is not used by another user's observer that does not read: only that observer loses notifications"
  )
  func slow() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=1M\nLowMark=64K\n")
    let other = try OtherUser(65_533, on: bus.address, in: folder)
    let hung = try (0..<8).map { _ in try other.staying("observe", "a.**") }
    for observer in hung { observer.signal(SIGSTOP) }
    defer { for observer in hung { observer.signal(SIGCONT) } }
    let (own, poster) = (try RawClient.observing("b.**", on: bus), try RawClient.greeted(bus))
    let text = String(repeating: "x", count: 10_000)
    for _ in 0..<60 { try poster.send(Post(), serial: 1, name: "b.c", text: text) }
    for _ in 0..<400 { try poster.send(Post(), serial: 1, name: "a.b", text: text) }
    try poster.settle()
    let states = try bus.tribunectl("-j", "list").lines.map { try jsonObject($0) }
    for state in states where state["uid"] as? Int == 65_533 { #expect(state["lost"] as? Int ?? 0 > 0) }
    for state in states where state["uid"] as? Int == 0 { #expect(state["lost"] as? Int == 0) }
    for _ in 0..<60 { #expect(try own.next().name == "b.c") }
    try other.tribunectl("ask", "c.shouldD").expect(0)
  }

  @Test(
    "includes partly sent frames: long notifications to many observers use no more than a share",
    arguments: [true, false])
  func halfSent(isOnePost: Bool) throws {
    let bus = try bus("[Queue]\nMemoryMax=16M\nHighMark=64K\nLowMark=16K\n")
    let count = 60
    let hung = try (0..<count).map { number in
      let client = try RawClient.greeted(bus, as: 65_533)
      try client.observe(isOnePost ? "b.c" : "a.n\(number)", serial: 1)
      return client
    }
    let (own, poster) = (
      try RawClient.observing("a.**", on: bus), try RawClient.greeted(bus, as: 65_533)
    )
    let memory = try bus.privateMemory()
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    if isOnePost {
      try poster.post("b.c", bytes: long, serial: 1)
    } else {
      for number in 0..<count {
        try poster.post("a.n\(number)", bytes: long, serial: 1)
        #expect(try own.next(.post).payload.utf8.count == 1 << 20)
      }
    }
    try poster.settle()
    #expect(try bus.privateMemory() - memory < 24 << 10)
    let queues = try #require(try accounts(try bus.tribunectl("-j", "accounts"), of: 0)["queues"])
    #expect(try #require(queues["share"] as? Int) > 4 << 20)
    try poster.send(Post(), serial: 1, name: isOnePost ? "b.c" : "a.n\(count - 1)", text: "1")
    let last = try #require(hung.last)
    #expect(try last.next(.lost).decode(Lost.self).count == 1)
    #expect(try last.next(.post).payload == "1")
  }

  @Test("includes frames that identify posters, for any number of posters")
  func posters() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\nPaceMaxSec=1ms\n")
    let hung = try (0..<60).map { _ in
      let client = try RawClient(path: bus.path, user: 65_533)
      try client.greet(capabilities: .posters)
      try client.observe("a", serial: 1)
      return client
    }
    let filling = try RawClient.greeted(bus, as: 65_533)
    let text = String(repeating: "x", count: 4_000)
    for _ in 0..<100 { try filling.send(Post(), serial: 1, name: "a", text: text) }
    for _ in 0..<1_500 {
      let poster = try RawClient.greeted(bus, as: 65_533)
      try poster.send(Post(), serial: 1, flags: .acknowledge, name: "a")
      #expect(try poster.next(.ok).header.serial == 1)
    }
    let queues = try #require(try accounts(try bus.tribunectl("-j", "accounts"), of: 65_533)["queues"])
    #expect(try #require(queues["used"] as? Int) < 2 << 20, "\(queues)")
    withExtendedLifetime(hung) {}
  }

  private func replaced(_ count: Serial, of user: UInt32, on bus: TestBus) throws -> RawClient {
    let client = try RawClient.greeted(bus, as: user)
    for serial in 1...count { try client.attach(Attach(label: "\(serial)", patterns: ["b"]), serial: serial) }
    let long = (0..<16).map {
      "a." + String(repeating: "x", count: 250) + String($0 % 10) + ($0 < 10 ? "y" : "z")
    }
    try RawClient.greeted(bus, as: user).attach(Attach(patterns: long + ["b"], isSet: true), serial: 1)
    return client
  }

  @Test("leaves something to others, however many users use memory that does not count in a share")
  func manyUsers() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\n")
    let hung = try (60_000..<60_012).map { try replaced(200, of: $0, on: bus) }
    let root = try #require(try accounts(try bus.tribunectl("-j", "accounts"), of: 0)["queues"])
    #expect(try #require(root["share"] as? Int) > 512 << 10)
    let left = try (60_000..<60_012).compactMap {
      try accounts(try bus.tribunectl("-j", "accounts"), of: $0)["queues"]?["share"] as? Int
    }
    #expect(!left.isEmpty && left.allSatisfy { $0 > 0 }, "\(left)")
    withExtendedLifetime(hung) {}
  }

  @Test(
    "includes frames that cannot be refused: connections that do not read their delegates' ends are closed")
  func endings() throws {
    let bus = try bus("[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\n")
    let memory = try bus.privateMemory()
    let hung = try (0..<12).map { _ in try replaced(400, of: 65_533, on: bus) }
    let root = try #require(try accounts(try bus.tribunectl("-j", "accounts"), of: 0)["queues"])
    #expect(try #require(root["share"] as? Int) > 256 << 10)
    #expect(try bus.privateMemory() - memory < 12 << 10)
    let listed = try bus.tribunectl("-j", "list").lines.filter { try jsonObject($0)["uid"] as? Int == 65_533 }
    #expect((1..<12).contains(listed.count))
    #expect(try bus.log().contains("more than its share"))
    withExtendedLifetime(hung) {}
  }
}
