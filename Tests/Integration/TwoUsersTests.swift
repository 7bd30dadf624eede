// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Two users", .timeLimit(.minutes(15)))
final class TwoUsersTests {
  private static let (greedy, other): (UInt32, UInt32) = (65_534, 65_533)

  enum Resource: CaseIterable {
    case connections, registrations, log, retained, protocols, descriptors, partialFrames, queues

    var configuration: String {
      switch self {
      case .connections: "[Bus]\nConnectionsMax=40\n"
      case .registrations: "[Bus]\nRegistrationsMax=64\n"
      case .log: "[Bus]\nLogMax=1M\n[Notifications]\nRetainedMax=512K\n"
      case .retained: "[Notifications]\nRetainedMax=256K\n"
      case .protocols: ""
      case .descriptors: "[Queue]\nHighMark=512M\nHardLimit=1G\n"
      case .partialFrames: "[Bus]\nPartialFramesMemoryMax=1M\n"
      case .queues: "[Queue]\nMemoryMax=4M\nHighMark=64K\nLowMark=16K\n"
      }
    }
  }

  private let file: FileDescriptor
  private var source: RawClient?

  init() throws { file = try SharedFile.make(SharedFile.bytes(WireLimits.descriptorPayloadLength)) }

  private final class User {
    let id: UInt32
    let bus: TestBus
    var clients: [RawClient] = []
    var serial = 0 as Serial
    var count = 0

    init(_ id: UInt32, on bus: TestBus) { (self.id, self.bus) = (id, bus) }

    func client() throws -> RawClient {
      if let last = clients.last, serial % 16 != 0 { return last }
      let client = try RawClient.greeted(bus, as: id)
      clients.append(client)
      return client
    }
  }

  private func takeMore(of resource: Resource, for user: User) throws -> Bool {
    if resource == .connections {
      let client = try RawClient(path: user.bus.path, user: user.id)
      do {
        try client.send { Hello().append(to: $0) }
      } catch let error as Errno {
        guard error == .brokenPipe else { throw error }
      }
      _ = try client.readHello()
      user.clients.append(client)
      return try client.next().kind == .welcome
    }
    let client = try user.client()
    user.serial += 1
    let serial = user.serial
    switch resource {
    case .connections: break
    case .registrations: try client.send(Observe(), serial: serial, name: "a.n\(serial)")
    case .log:
      try client.send(Observe(), serial: serial, name: "a\(serial)." + String(repeating: "x", count: 240))
    case .retained:
      try client.send(
        Post(options: .retain), serial: serial, flags: .acknowledge, name: "user\(user.id).n\(serial)",
        text: String(repeating: "x", count: 5_000))
    case .protocols:
      let text = (0..<64).map { "protocol P\(user.id)N\(serial)N\($0) {}\n" }.joined()
      try client.send(Declare(), serial: serial, text: text)
    case .descriptors:
      try client.post(
        "held.file", file: file, length: WireLimits.descriptorPayloadLength, serial: serial,
        flags: .acknowledge)
    case .partialFrames:
      let bytes = RawClient.bytes {
        $0.appendFrame(
          Post(), flags: .acknowledge, serial: serial, name: "a.b",
          text: String(repeating: "x", count: 100_000))
      }
      do {
        try client.send(Array(bytes.dropLast(1)))
      } catch {
        // The bus closes a connection when it lacks memory for its partial frame, perhaps before it has read all.
        try #require(user.id == Self.greedy, "\(error)")
      }
      if user.id == Self.greedy {
        // The bus does not answer a partial frame.
        try RawClient.greeted(user.bus).settle()
        user.serial = 16 * (user.serial / 16 + 1)
        return user.clients.count < 20
      }
      try client.send([bytes[bytes.count - 1]])
    case .queues:
      // A greedy asker's verdicts stay unread. In the end, such a user may not even ask for a list.
      let list = try RawClient.greeted(user.bus, as: user.id)
      try list.send(List(.bus), serial: 1)
      let reply = try list.next()
      guard reply.kind == .entry else {
        #expect(reply.payload.contains("its share is"), "\(reply.payload)")
        return false
      }
      let source = try source ?? RawClient.greeted(user.bus)
      if self.source == nil { try source.attach(Attach(patterns: ["long.value"]), serial: 1) }
      self.source = source
      try client.send(Ask(mode: .first), serial: serial, name: "long.value")
      let value = "\"" + String(repeating: "x", count: 200_000) + "\""
      try source.answer(try source.nextQuestion().question, .value, value)
      try source.settle()
      return try user.id == Self.greedy || client.next().kind == .verdict
    }
    let reply = try client.next()
    guard reply.kind == .error else { return true }
    #expect(reply.payload.contains("its share is"), "\(reply.payload)")
    return false
  }

  @Test("share the bus: one cannot use up what another needs, or root", arguments: Resource.allCases)
  func sharing(_ resource: Resource) throws {
    let bus = try TestBus.allowingAll(resource.configuration)
    // Files stay in flight while their observer does not read.
    let hung = try RawClient.greeted(bus, capabilities: .descriptors)
    try hung.observe("held.*", serial: 1)
    let greedy = User(Self.greedy, on: bus)
    var count = 0
    while try takeMore(of: resource, for: greedy) {
      count += 1
      try #require(count < 5000)
    }
    #expect(count > 1)
    for user in [Self.other, 0] {
      #expect(try takeMore(of: resource, for: User(user, on: bus)), "user \(user)")
    }
    #expect(try bus.tribunectl("accounts").output.contains("65534"))
    withExtendedLifetime((hung, greedy)) {}
  }

  @Test(
    "leave root's reserve to root, however many they are",
    arguments: [Resource.connections, .registrations, .log, .retained, .protocols, .descriptors])
  func many(_ resource: Resource) throws {
    let bus = try TestBus.allowingAll(resource.configuration)
    let hung = try RawClient.greeted(bus, capabilities: .descriptors)
    try hung.observe("held.*", serial: 1)
    // One user of the host can act as this many by its subordinate ids.
    var users: [User] = []
    repeat {
      users.append(User(100_000 + UInt32(users.count), on: bus))
      while try takeMore(of: resource, for: users[users.count - 1]) { users[users.count - 1].count += 1 }
    } while try #require(users.last).count > 0 && users.count < 200
    #expect(users.last?.count == 0)
    #expect(try takeMore(of: resource, for: User(0, on: bus)))
    withExtendedLifetime((hung, users)) {}
  }

  @Test("ask a delegate that does not read; one cannot shut out the questions of another, or of root")
  func unreadQuestions() throws {
    let bus = try TestBus.allowingAll(
      "[Bus]\nPayloadMax=64K\n[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\n")
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    let userInfo = String(repeating: " ", count: 32_768)
    func isAsked(by user: UInt32) throws -> Bool {
      let asker = try RawClient.greeted(bus, as: user)
      try asker.send(Ask(deadline: 20), serial: 1, name: "a.shouldB", text: userInfo)
      return try asker.nextVerdict().outcomes.first?.outcome == .timedOut
    }
    var count = 0
    while try isAsked(by: Self.greedy) {
      count += 1
      try #require(count < 100)
    }
    #expect(count > 4)
    for user in [Self.other, 0] { #expect(try isAsked(by: user), "user \(user)") }
    for _ in 0..<count + 2 {
      _ = try delegate.nextQuestion()
      _ = try delegate.nextConclusion()
    }
    #expect(try isAsked(by: Self.greedy))
  }

  @Test(
    "observe; one whose observers paused another's posters for a second pauses them no more"
  )
  func pausing() throws {
    let marks = "[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\n"
    let bus = try TestBus.allowingAll(marks + "PaceMaxSec=2s\n")
    let (watcher, text) = (try RawClient.greeted(bus), String(repeating: "x", count: 2_000))
    func post(_ name: String) throws -> Bool {
      let observer = try RawClient(path: bus.path, user: Self.greedy)
      let observerWelcome = try observer.greet()
      try observer.observe(name, serial: 1)
      let (poster, welcome) = try RawClient.welcomed(bus)
      var wasPaused = false
      while try watcher.entry(of: observerWelcome.connection)?.isLossy == false {
        if try watcher.entry(of: welcome.connection)?.isPaused == true {
          wasPaused = true
        } else {
          try poster.send(Post(), serial: 2, name: name, text: text)
        }
      }
      return wasPaused
    }
    #expect(try post("a.x"))
    try bus.reload(marks + "PaceMaxSec=10s\n")
    #expect(try !post("a.y"))
  }

  @Test("connect; one who connects very often does not delay another until all of that is done")
  func connecting() throws {
    let bus = try TestBus.allowingAll()
    try bus.freeze()
    let first = try (0..<900).map { _ in try RawClient(path: bus.path, user: Self.greedy) }
    let other = try RawClient(path: bus.path, user: Self.other)
    bus.signal(SIGCONT)
    try other.send { Hello().append(to: $0) }
    _ = try other.readHello()
    #expect(try other.next().decode(Welcome.self).connection.rawValue < 900)
    withExtendedLifetime(first) {}
  }

  @Test("connect and say nothing, and are refused without using up the share of others")
  func silent() throws {
    let bus = try TestBus.allowingAll(Resource.connections.configuration)
    let silent = try (0..<100).map { _ in try RawClient(path: bus.path, user: Self.greedy) }
    for user in [Self.other, 0] { try RawClient.greeted(bus, as: user).settle() }
    withExtendedLifetime(silent) {}
  }
}
