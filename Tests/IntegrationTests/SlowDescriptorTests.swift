// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Descriptors that nobody can close, or ask anything of, without waiting for who is behind them.
@Suite("Descriptors that take long to be closed", .timeLimit(.minutes(3)))
struct SlowDescriptorTests {
  private static let floor = WireLimits.descriptorPayloadLength

  /// How a client passes a descriptor that the bus does not take.
  enum Way: CaseIterable {
    case refused, refusedUnseen, withoutFrame, withOtherFrame, oneTooMany, beforeItsFrame

    fileprivate func send(_ socket: LingeringSocket, from client: RawClient) throws {
      let post = RawClient.post("a.b", length: SlowDescriptorTests.floor, serial: 1)
      switch self {
      case .refused: try client.send(post, with: [socket.rawDescriptor])
      case .refusedUnseen:
        try client.send(RawClient.post("a.b", length: 1, serial: 1), with: [socket.rawDescriptor])
      case .withoutFrame: try client.send(client.frame(Post()), with: [socket.rawDescriptor])
      case .withOtherFrame:
        try client.send(client.frame(Observe(), flags: .descriptor), with: [socket.rawDescriptor])
      case .oneTooMany:
        let file = try SharedFile.make([1])
        let files = [CInt](repeating: file.rawValue, count: PassedDescriptors.countPerReadMax)
        try client.send(post, with: files + [socket.rawDescriptor])
      case .beforeItsFrame: try client.send(Array(post.prefix(10)), with: [socket.rawDescriptor])
      }
    }
  }

  @Test("what is not taken keeps nobody waiting", arguments: Way.allCases)
  func notTaken(way: Way) throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    do {
      let client = try RawClient.greeted(bus)
      let socket = try LingeringSocket()
      defer { socket.end() }
      // The bus is to be the last that has it.
      try bus.freeze()
      try way.send(socket, from: client)
      socket.leave()
      bus.signal(SIGCONT)
      if way == .beforeItsFrame {
        client.endSending()
        _ = try client.readToEnd()
      } else {
        _ = try client.nextError()
      }
      try other.settle()
      try RawClient.greeted(bus).settle()
    }
    #expect(bus.stop() == 0)
  }

  @Test("what is never read, because its connection is closed before, keeps nobody waiting")
  func unread() throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    let client = try RawClient.greeted(bus)
    let socket = try LingeringSocket()
    defer { socket.end() }
    try bus.freeze()
    // One read ends behind what has descriptors with it, and what this one brings ends the connection.
    try client.sendDescriptors(1)
    try client.send([0], with: [socket.rawDescriptor])
    socket.leave()
    bus.signal(SIGCONT)
    #expect(try client.nextError() == .unexpectedDescriptors)
    try other.settle()
    try RawClient.greeted(bus).settle()
    #expect(bus.stop() == 0)
  }

  @Test("a user with many that are not closed yet gets no more in, until they are")
  func many() throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    var sockets: [LingeringSocket] = []
    for _ in 0..<16 { sockets.append(try LingeringSocket()) }
    let client = try RawClient.greeted(bus)
    try bus.freeze()
    for socket in sockets {
      try Way.refused.send(socket, from: client)
      socket.leave()
    }
    bus.signal(SIGCONT)
    for _ in sockets { #expect(try client.nextError() == .invalidDescriptor) }
    // The end of these comes when the bus has closed all of them, which it does in order, and four at a time.
    let pipe = Pipe()
    var refusedCount = 0
    while refusedCount < 5000, try hasRefused(client, pipe.fileHandleForWriting) { refusedCount += 1 }
    #expect(refusedCount < 600)
    #expect(try bus.log().contains("take long to be closed"))
    #expect(try bus.openDescriptors() < 1000)
    // Neither does another connection of the same user.
    let late = try RawClient(bus)
    _ = try late.readHello()
    #expect(try late.nextError() == .outOfMemory)
    try other.settle()
    for socket in sockets { socket.end() }
    try pipe.expectClosed()
    try RawClient.greeted(bus).settle()
    #expect(bus.stop() == 0)
  }

  /// - Returns: false when the bus has closed the connection.
  private func hasRefused(_ client: RawClient, _ file: FileHandle) throws -> Bool {
    do {
      try client.send(RawClient.post("a.b", length: Self.floor, serial: 1), with: [file.fileDescriptor])
      return try client.nextError() == .invalidDescriptor
    } catch let error as Errno where error.isDisconnection {
      return false
    }
  }

  @Test(
    "one that waits for its frame while the bus changes hands is refused with it then, and nothing else is",
    arguments: RestartedBus.Way.unnoticed)
  func restarted(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let client = try RawClient(path: bus.path)
    try client.greet()
    let post = RawClient.post("a.b", length: Self.floor, serial: 7)
    let socket = try LingeringSocket()
    defer { socket.end() }
    try client.send(Array(post.prefix(10)), with: [socket.rawDescriptor])
    // It has been read when somebody who came later has been served.
    try RawClient.greeted(bus).settle()
    try bus.restart(way)
    try client.send(Array(post.dropFirst(10)))
    let refusal = try client.next(.error)
    #expect(try refusal.header.serial == 7 && refusal.decode(Refusal.self).code == .invalidDescriptor)
    try client.settle()
    #expect(try bus.endCountingFiles() == 0)
  }
}

extension RawClient {
  fileprivate func frame<F: FrameFields>(_ fields: F, flags: FrameFlags = []) -> [UInt8] {
    let frame = ByteBuffer(capacity: 64)
    frame.appendFrame(fields, flags: flags, serial: 1, name: "a.b")
    return [UInt8](frame.bytes)
  }
}
