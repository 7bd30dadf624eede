// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// Two ends of a connection, for two daemons. Neither waits long.
@MainActor
private struct Pair {
  let bus: HandOverChannel
  let other: HandOverChannel
  /// The other end's socket: for what no channel says.
  let socket: CInt

  init(within limit: Duration = .seconds(20), bus busLimit: Duration = .seconds(20)) throws {
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let result = unsafe socketpair(AF_UNIX, type, 0, &ends)
    try #require(result == 0)
    bus = HandOverChannel(FileDescriptor(owning: ends[0]), within: busLimit)
    other = HandOverChannel(FileDescriptor(owning: ends[1]), within: limit)
    socket = ends[1]
  }

  func send(_ bytes: [UInt8]) throws {
    let sent = unsafe Glibc.send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    try #require(sent == bytes.count)
  }
}

/// What daemons say to each other when one takes the other's place: whoever is at the other end can neither keep
/// this one waiting nor have it take what it does not expect.
@MainActor @Suite("The channel between two daemons", .timeLimit(.minutes(15)))
struct HandOverChannelTests {
  @Test(
    "a message arrives as it was sent",
    arguments: [
      .end(count: 0), .end(count: 100_000), .ready, .yours, .batch([]),
    ] as [HandOverMessage])
  func message(_ message: HandOverMessage) throws {
    let pair = try Pair()
    try pair.bus.send(message)
    #expect(try pair.other.receive() == message)
  }

  @Test("as many descriptors as a message can have arrive with what they are", arguments: [1, 16, 17, 253])
  func descriptors(_ count: Int) throws {
    let pair = try Pair()
    let kinds: [HandedOver] = [
      .state, .connection, .file, .listener(path: "/run/x", file: nil),
      .listener(path: "/run/y", file: SocketFile(device: 1, inode: .max)),
    ]
    let batch = (0..<count).map { kinds[$0 % kinds.count] }
    let file = try InodeFile()
    for _ in 0..<2 {
      try pair.bus.send(.batch(batch), passing: [CInt](repeating: file.descriptor, count: count))
    }
    for _ in 0..<2 {
      var passed = PassedDescriptors()
      #expect(try pair.other.receive(&passed) == .batch(batch))
      #expect(passed.count == count)
      for descriptor in passed.rawValues {
        #expect(FileDescriptor.lending(descriptor) { $0.inode } == file.inode)
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
      }
    }
  }

  @Test(
    "what makes no sense is an error, whatever length it says",
    arguments: [
      [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 6, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0],
      [1, 0, 1, 0, 1, 0, 0, 0],
      // Descriptors that do not come, or with what has none.
      [0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 3, 1, 0, 0],
      // Bodies that end early.
      [0, 0, 0, 0, 2, 0, 0, 0], [3, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3], [2, 0, 0, 0, 5, 0, 0, 0, 9, 0],
    ] as [[UInt8]])
  func nonsense(_ bytes: [UInt8]) throws {
    let pair = try Pair()
    try pair.send(bytes)
    let error = #expect(throws: HandOverChannel.Failure.self) { try pair.bus.receive() }
    guard case .malformed? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(
    "a batch of which a record is none is an error",
    arguments: [
      // Of no length; of one that it does not have; of no kind; a listener without a path.
      [], [9, 0, 0, 0, 1], [1, 0, 0, 0, 77], [17, 0, 0, 0, 4] + [UInt8](repeating: 0, count: 16),
    ] as [[UInt8]])
  func badRecord(_ record: [UInt8]) throws {
    let pair = try Pair()
    let file = try InodeFile()
    let buffer = ByteBuffer(capacity: 64)
    buffer.append(UInt32(record.count))
    buffer.append([1, 1, 0, 0].rawBytes)
    buffer.append(record.rawBytes)
    try pair.other.send(buffer, passing: [file.descriptor])
    var passed = PassedDescriptors()
    let error = #expect(throws: HandOverChannel.Failure.self) { try pair.bus.receive(&passed) }
    guard case .malformed? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("what a newer daemon says of a descriptor besides is passed over")
  func newerRecord() throws {
    let pair = try Pair()
    let file = try InodeFile()
    let buffer = ByteBuffer(capacity: 64)
    buffer.append([7, 0, 0, 0, 1, 1, 0, 0].rawBytes)
    buffer.append([3, 0, 0, 0, 2, 9, 9].rawBytes)
    try pair.other.send(buffer, passing: [file.descriptor])
    var passed = PassedDescriptors()
    #expect(try pair.bus.receive(&passed) == .batch([.connection]))
  }

  @Test("who says nothing is waited for until the deadline")
  func silence() throws {
    let pair = try Pair(within: .milliseconds(20))
    #expect(throws: HandOverChannel.Failure.timedOut) { try pair.other.receive() }
    // Half a message is none.
    pair.other.extend(by: .milliseconds(20))
    try pair.bus.send(ByteBuffer(holding: [4, 0, 0, 0, 2, 0, 0, 0, 1]))
    #expect(throws: HandOverChannel.Failure.timedOut) { try pair.other.receive() }
  }

  @Test("who talks without end has no more time than who says nothing")
  func endless() throws {
    let pair = try Pair(within: .milliseconds(50))
    #expect(throws: HandOverChannel.Failure.timedOut) {
      while true {
        try pair.bus.send(.batch([]))
        _ = try pair.other.receive()
      }
    }
  }

  @Test("who does not read is waited for until the deadline")
  func deafness() throws {
    let pair = try Pair(bus: .milliseconds(50))
    let file = try InodeFile()
    let batch = [HandedOver](repeating: .connection, count: 253)
    #expect(throws: HandOverChannel.Failure.timedOut) {
      while true { try pair.bus.send(.batch(batch), passing: [CInt](repeating: file.descriptor, count: 253)) }
    }
  }

  @Test("a refusal ends it on both sides, with its reason")
  func refusal() throws {
    let pair = try Pair()
    pair.other.refuse("no room")
    #expect(throws: HandOverChannel.Failure.refused("no room")) { try pair.bus.receive() }
    #expect(throws: HandOverChannel.Failure.ended) { try pair.bus.send(.yours) }
    #expect(throws: HandOverChannel.Failure.ended) { try pair.other.receive() }
  }

  @Test("who has hung up still has what was said before, and nothing that is said after it")
  func lastWord() throws {
    let pair = try Pair()
    try pair.bus.send(.yours)
    pair.other.hangUp()
    #expect(throws: HandOverChannel.Failure.ended) { try pair.bus.send(.yours) }
    #expect(try pair.other.receive() == .yours)
    #expect(throws: HandOverChannel.Failure.ended) { try pair.other.receive() }
  }
}

/// A file that is told from others.
private final class InodeFile {
  private let file: MemoryFile
  let inode: UInt64

  init() throws {
    let bytes: [UInt8] = [1]
    file = try MemoryFile(holding: bytes.rawBytes)
    inode = try #require(FileDescriptor.lending(file.rawDescriptor) { $0.inode })
  }

  var descriptor: CInt { file.rawDescriptor }
}

extension ByteBuffer {
  fileprivate convenience init(holding bytes: [UInt8]) {
    self.init(capacity: bytes.count)
    append(bytes.rawBytes)
  }
}
