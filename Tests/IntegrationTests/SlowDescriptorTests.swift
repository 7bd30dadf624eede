// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Descriptors whose `close` blocks.
@Suite("Descriptors that take long to close", .timeLimit(.minutes(3)))
struct SlowDescriptorTests {
  private static let floor = WireLimits.descriptorPayloadLength

  /// The ways to pass a descriptor that the bus does not accept.
  enum Way: CaseIterable {
    case refused, refusedUnseen, withoutFrame, withOtherFrame, oneTooMany, beforeItsFrame, neverRead

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
      case .neverRead:
        // A read ends after bytes with descriptors, and the first of these reads ends the connection.
        let file = try SharedFile.make([1])
        try client.send(client.frame(Post()), with: [file.rawValue])
        try client.send([0], with: [socket.rawDescriptor])
      }
    }
  }

  @Test("a descriptor that is not accepted blocks nobody", arguments: Way.allCases)
  func notTaken(way: Way) throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    do {
      let client = try RawClient.greeted(bus)
      let socket = try LingeringSocket()
      defer { socket.end() }
      // While the bus is stopped, the test closes its own descriptor: so the bus has the last one.
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

  @Test("a user with many descriptors to close can connect again once they are closed")
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
    // The pipe ends once the bus has closed all of its descriptors. The bus closes in order, four at a time.
    let pipe = Pipe()
    var refusedCount = 0
    while refusedCount < 5000, try hasRefused(client, pipe.fileHandleForWriting) { refusedCount += 1 }
    #expect(refusedCount < 600)
    #expect(try bus.log().contains("are still being closed"))
    #expect(try bus.openDescriptors() < 1000)
    // The user cannot connect again either.
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
    "a descriptor of a partial frame is refused with that after a restart, and nothing else is",
    arguments: RestartedBus.Way.unnoticed)
  func restarted(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let client = try RawClient.greeted(bus)
    let post = RawClient.post("a.b", length: Self.floor, serial: 7)
    let socket = try LingeringSocket()
    defer { socket.end() }
    try client.send(Array(post.prefix(10)), with: [socket.rawDescriptor])
    // The bus has read it once a later client has been served.
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
    Self.bytes { $0.appendFrame(fields, flags: flags, serial: 1, name: "a.b") }
  }
}
