// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem

/// Two connected sockets of packets.
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
      bus = try KeeperChannel.over(pair.one)
      keeper = try KeeperChannel.over(pair.other)
    }
  }

  @Test("a message arrives as it was sent, with as many descriptors as it can have, in their order")
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

  @Test("what was sent before the connection was reset is received")
  func reset() throws {
    var pair: Pair? = try Pair()
    let keeper = try #require(pair?.keeper)
    // The bus ends with something unread.
    #expect(try keeper.send(.leaving))
    #expect(try pair?.bus.send(.over) == true)
    pair = nil
    guard case .message(.over, _) = try keeper.receive() else {
      Issue.record("nothing came")
      return
    }
    #expect(throws: KeeperChannel.Failure.ended) { _ = try keeper.receive() }
    #expect(throws: KeeperChannel.Failure.ended) { _ = try keeper.send(.leaving) }
  }

  @Test("who has hung up still has what was said before, and nothing that is said after it")
  func hangUp() throws {
    let pair = try Pair()
    #expect(try pair.keeper.send(.over))
    pair.bus.hangUp()
    #expect(throws: KeeperChannel.Failure.ended) { _ = try pair.keeper.send(.over) }
    guard case .message(.over, _) = try pair.bus.receive() else {
      Issue.record("nothing came")
      return
    }
    #expect(throws: KeeperChannel.Failure.ended) { _ = try pair.bus.receive() }
  }

  @Test("who does not read is not waited for")
  func full() throws {
    let pair = try Pair()
    var count = 0
    while try pair.bus.send(.forget(KeeperMessageTests.items)), count < 100_000 { count += 1 }
    #expect(count > KeeperMessage.windowMax && count < 100_000)
    guard case .message = try pair.keeper.receive() else {
      Issue.record("nothing came")
      return
    }
    #expect(try pair.bus.send(.leaving))
  }

  @Test(
    "what makes no sense is an error, and what came with it is closed",
    arguments: [
      [0, 0, 0, 0, 99, 0, 0, 0], [0, 0, 0, 0, 6, 0, 0, 0], [1, 2, 3],
      [UInt8](repeating: 0xFF, count: KeeperMessage.lengthMax + 1),
    ] as [[UInt8]])
  func malformed(_ bytes: [UInt8]) throws {
    let pair = try PacketPair()
    let channel = try KeeperChannel.over(try pair.one.duplicate())
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

  @Test("nobody is trusted with connections but root, and the user of this process")
  func untrusted() async {
    await #expect(processExitsWith: .success) {
      try #require(geteuid() == 0, "only root can be another user for once")
      try #require(seteuid(65534) == 0)
      try await MainActor.run {
        let pair = try PacketPair()
        _ = try KeeperChannel.over(try pair.one.duplicate())
        try #require(seteuid(0) == 0)
        let error = #expect(throws: KeeperChannel.Failure.self) {
          _ = try KeeperChannel.over(try pair.one.duplicate())
        }
        #expect(error == .untrusted(uid: 65534))
      }
    }
  }
}
