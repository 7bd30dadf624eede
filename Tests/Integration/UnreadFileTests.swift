// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Unread files", .timeLimit(.minutes(15)))
final class UnreadFileTests {
  private static let (greedy, other, busUser): (UInt32, UInt32, UInt32) = (65_534, 65_533, 65_532)
  private static let length = WireLimits.descriptorPayloadLength

  private let file: FileDescriptor
  private let folder: TestFolder

  init() throws {
    file = try SharedFile.make(SharedFile.bytes(Self.length))
    folder = try TestFolder()
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/all.policy")
  }

  /// Its user may have 1,024 descriptors in flight, as many as its processes may open.
  private func limitedBus() throws -> TestBus {
    // Root would not be limited.
    _ = unsafe chown(folder.path, Self.busUser, Self.busUser)
    let mask = umask(0)
    defer { umask(mask) }
    return try TestBus(
      configuration: "[Queue]\nHighMark=512M\nHardLimit=1G\n",
      wrapper: [
        "/usr/bin/prlimit", "--nofile=1024:1024", "/usr/bin/setpriv", "--reuid=\(Self.busUser)",
        "--regid=\(Self.busUser)", "--clear-groups",
      ], folder: folder)
  }

  private func observer(_ name: String, on bus: some ServedBus, as user: UInt32) throws -> RawClient {
    let client = try RawClient(path: bus.path, user: user)
    try client.greet(capabilities: .descriptors)
    try client.observe(name, serial: 1)
    return client
  }

  private func post(_ name: String, from poster: RawClient, serial: Int) throws {
    try poster.post(name, file: file, length: Self.length, serial: Serial(serial), flags: .acknowledge)
    while try poster.next(.ok).header.serial != Serial(serial) {}
  }

  private func unreadCount(of user: UInt32, _ client: RawClient) throws -> UInt64 {
    for case .account(let entry) in try client.list(List(.accounts))
    where entry.uid == user && entry.resource == "unread-files" { return entry.used }
    return 0
  }

  @Test(
    "of one user do not keep others from receiving files, even after the bus ended the connections",
    arguments: [false, true])
  func othersReceive(isEnding: Bool) throws {
    let bus = try limitedBus()
    let poster = try RawClient.greeted(bus)
    var serial = 1
    var hung: [RawClient] = []
    for _ in 0..<3 {
      let observers = try (0..<8).map { _ in try self.observer("held.file", on: bus, as: Self.greedy) }
      for _ in 0..<100 {
        serial += 1
        try post("held.file", from: poster, serial: serial)
      }
      if isEnding { for observer in observers { observer.endSending() } }
      hung += observers
    }
    #expect(try unreadCount(of: Self.greedy, poster) > 64)
    for user in [Self.other, 0] {
      let observer = try self.observer("seen.file", on: bus, as: user)
      serial += 1
      try post("seen.file", from: poster, serial: serial)
      #expect(try observer.next().kind == .post, "user \(user)")
      _ = try observer.takeFile(length: Self.length)
    }
    hung = []
    try bus.wait(serving: poster) { try unreadCount(of: Self.greedy, poster) == 0 }
    let observer = try self.observer("seen.file", on: bus, as: Self.greedy)
    serial += 1
    try post("seen.file", from: poster, serial: serial)
    #expect(try observer.next().kind == .post)
  }

  @Test("in many connections of a user leave some for another client of that user")
  func siblingReceives() throws {
    let bus = try limitedBus()
    let poster = try RawClient.greeted(bus)
    let hung = try (0..<8).map { _ in try self.observer("held.file", on: bus, as: Self.greedy) }
    for serial in 2..<102 { try post("held.file", from: poster, serial: serial) }
    let observer = try self.observer("seen.file", on: bus, as: Self.greedy)
    for serial in 102..<142 {
      try post("seen.file", from: poster, serial: serial)
      #expect(try observer.next().kind == .post)
    }
    withExtendedLifetime(hung) {}
  }

  @Test("of one user leave some to others, even after a restart", arguments: RestartedBus.Way.allCases)
  func othersReceiveAfterRestart(_ way: RestartedBus.Way) throws {
    let wrapper = ["/usr/bin/prlimit", "--nofile=1024:1024"]
    let bus = try RestartedBus(wrapper: wrapper, folder: folder)
    bus.laterWrapper = wrapper
    let poster = try RawClient.greeted(bus)
    let hung = try (0..<16).map { _ in try self.observer("held.file", on: bus, as: Self.greedy) }
    // Other notifications also take the kernel's memory, and the next daemon cannot tell them from files.
    for serial in 1...40 as ClosedRange<Serial> {
      try poster.sendConfirmed(Post(), serial: serial, name: "held.file", text: "x")
    }
    for serial in 41...60 { try post("held.file", from: poster, serial: serial) }
    #expect(try unreadCount(of: Self.greedy, poster) > 64)
    try bus.restart(way)
    let client = try RawClient.greeted(bus)
    for (serial, user) in [Self.other, 0].enumerated() {
      let observer = try self.observer("seen.file", on: bus, as: user)
      try post("seen.file", from: client, serial: serial + 1)
      #expect(try observer.next().kind == .post, "user \(user)")
      _ = try observer.takeFile(length: Self.length)
    }
    withExtendedLifetime(hung) {}
  }

  @Test(
    "count until they are received, even with the next daemon", arguments: RestartedBus.Way.allCases)
  func restarted(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus(folder: folder)
    let observer = try self.observer("a.file", on: bus, as: Self.greedy)
    let first = try RawClient.greeted(bus)
    for serial in 1...5 { try post("a.file", from: first, serial: serial) }
    #expect(try unreadCount(of: Self.greedy, first) == 5)
    try bus.restart(way)
    let client = try RawClient.greeted(bus)
    // The kernel does not report their number.
    #expect(try unreadCount(of: Self.greedy, client) >= 5)
    for _ in 0..<5 {
      #expect(try observer.next().kind == .post)
      _ = try observer.takeFile(length: Self.length)
    }
    try bus.bus.wait(serving: client) { try unreadCount(of: Self.greedy, client) == 0 }
  }
}
