// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneServer
import TribuneSystem

private struct PacketPair: ~Copyable {
  let one: FileDescriptor
  let other: FileDescriptor

  init() throws {
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
    one = FileDescriptor(owning: ends[0])
    other = FileDescriptor(owning: ends[1])
  }
}

@MainActor
@Suite("The channel between a bus and its keeper", .timeLimit(.minutes(15)))
struct KeeperChannelTests {
  private struct Pair {
    let bus: KeeperChannel
    let keeper: KeeperChannel

    @MainActor init() throws {
      let pair = try PacketPair()
      bus = try KeeperChannel(pair.one)
      keeper = try KeeperChannel(pair.other)
    }
  }

  private func next(from channel: KeeperChannel) throws -> KeeperMessage? {
    guard case .message(let message, _) = try channel.receive() else { return nil }
    return message
  }

  @Test("a message arrives unchanged, with its descriptors in order, as many as it can have")
  func descriptors() throws {
    let pair = try Pair()
    let connections = try (0..<3).map { _ in try WatchedConnection() }
    defer { for connection in connections { close(connection.passed) } }
    let passed = (0..<KeeperMessage.itemsMax).map { connections[$0 % 3].passed }
    #expect(try pair.bus.send(.batch(KeeperMessageTests.items), passing: passed))
    guard case .message(.batch(KeeperMessageTests.items), var received) = try pair.keeper.receive() else {
      Issue.record("no batch came")
      return
    }
    let cookies = try received.releaseAll().map { try UnixSocket.cookie(of: FileDescriptor(owning: $0)) }
    #expect(cookies == passed.indices.map { connections[$0 % 3].cookie })
  }

  @Test("messages sent before a reset of the connection still arrive")
  func reset() throws {
    var pair: Pair? = try Pair()
    let keeper = try #require(pair?.keeper)
    #expect(try keeper.send(.leaving))
    #expect(try pair?.bus.send(.finished) == true)
    pair = nil
    #expect(try next(from: keeper) == .finished)
    #expect(throws: KeeperChannel.Failure.ended) { _ = try keeper.receive() }
    #expect(throws: KeeperChannel.Failure.ended) { _ = try keeper.send(.leaving) }
  }

  @Test("sending never waits for a reader")
  func full() throws {
    let pair = try Pair()
    var count = 0
    while try pair.bus.send(.forget(KeeperMessageTests.items)), count < 100_000 { count += 1 }
    #expect(count > KeeperMessage.windowMax && count < 100_000)
    #expect(try next(from: pair.keeper) == .forget(KeeperMessageTests.items))
    #expect(try pair.bus.send(.leaving))
  }

  @Test(
    "a malformed message is an error, and its descriptors are closed",
    arguments: [
      [0, 0, 0, 0, 99, 0, 0, 0], [0, 0, 0, 0, 6, 0, 0, 0], [1, 2, 3],
      [UInt8](repeating: 0xFF, count: KeeperMessage.lengthMax + 1),
    ] as [[UInt8]])
  func malformed(_ bytes: [UInt8]) throws {
    let pair = try PacketPair()
    let channel = try KeeperChannel(try pair.one.duplicate())
    let connection = try WatchedConnection()
    let count = unsafe try bytes.withUnsafeBytes { bytes throws(Errno) in
      unsafe try UnixSocket.send(RawSpan(_unsafeBytes: bytes), passing: [connection.passed], to: pair.other)
    }
    close(connection.passed)
    #expect(count == bytes.count)
    let error = #expect(throws: KeeperChannel.Failure.self) { _ = try channel.receive() }
    guard case .malformed? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try connection.isClosed)
  }

  @Test("only root and this process's own user are trusted")
  func untrusted() async {
    await #expect(processExitsWith: .success) {
      try #require(geteuid() == 0, "only root can change its user")
      try #require(seteuid(65534) == 0)
      try await MainActor.run {
        let pair = try PacketPair()
        _ = try KeeperChannel(try pair.one.duplicate())
        try #require(seteuid(0) == 0)
        let error = #expect(throws: KeeperChannel.Failure.self) {
          _ = try KeeperChannel(try pair.one.duplicate())
        }
        #expect(error == .untrusted(uid: 65534))
      }
    }
  }
}
