// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Descriptors that take long to close", .timeLimit(.minutes(15)))
struct SlowDescriptorTests {
  private static let floor = WireLimits.descriptorPayloadLength

  enum Way: CaseIterable {
    case refused, refusedUnseen, withoutFrame, withOtherFrame, oneTooMany, beforeItsFrame, neverRead

    fileprivate func send(_ descriptor: CInt, from client: RawClient) throws {
      let post = RawClient.post("a.b", length: SlowDescriptorTests.floor, serial: 1)
      switch self {
      case .refused: try client.send(post, with: [descriptor])
      case .refusedUnseen:
        try client.send(RawClient.post("a.b", length: 1, serial: 1), with: [descriptor])
      case .withoutFrame: try client.send(client.frame(Post()), with: [descriptor])
      case .withOtherFrame:
        try client.send(client.frame(Observe(), flags: .descriptor), with: [descriptor])
      case .oneTooMany:
        let file = try SharedFile.make([1])
        let files = [CInt](repeating: file.rawValue, count: PassedDescriptors.countPerReadMax)
        try client.send(post, with: files + [descriptor])
      case .beforeItsFrame: try client.send(Array(post.prefix(10)), with: [descriptor])
      case .neverRead:
        let file = try SharedFile.make([1])
        try client.send(client.frame(Post()), with: [file.rawValue])
        try client.send([0], with: [descriptor])
      }
    }
  }

  @Test("a descriptor that is refused blocks no client", arguments: Way.allCases)
  func notTaken(way: Way) throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    do {
      let client = try RawClient.greeted(bus)
      let socket = try LingeringSocket()
      defer { socket.end() }
      // While the bus is stopped, the test closes its descriptor, so the bus has the last one.
      try bus.freeze()
      try way.send(socket.rawDescriptor, from: client)
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

  @Test("many refused descriptors are closed, although earlier ones block")
  func many() throws {
    let bus = try TestBus()
    var sockets: [LingeringSocket] = []
    for _ in 0..<16 { sockets.append(try LingeringSocket()) }
    let client = try RawClient.greeted(bus)
    try bus.freeze()
    for socket in sockets {
      try Way.refused.send(socket.rawDescriptor, from: client)
      socket.leave()
    }
    bus.signal(SIGCONT)
    for _ in sockets { #expect(try client.nextError() == .invalidDescriptor) }
    // The pipe ends once the bus has closed all of its descriptors, in order, four at a time.
    let pipe = Pipe()
    for _ in 0..<100 {
      try client.send(
        RawClient.post("a.b", length: Self.floor, serial: 1), with: [pipe.fileHandleForWriting.fileDescriptor]
      )
      #expect(try client.nextError() == .invalidDescriptor)
    }
    try pipe.expectClosed()
    try RawClient.greeted(bus).settle()
    withExtendedLifetime(sockets) {}
    #expect(bus.stop() == 0)
  }

  @Test("ended connections with descriptors that block do not occupy the bus for long")
  func connections() throws {
    let bus = try TestBus()
    let other = try RawClient.greeted(bus)
    let before = try bus.openDescriptors()
    let clients = try (0..<100).map { _ in try RawClient.greeted(bus) }
    let sockets = try (0..<16).map { _ in try LingeringSocket() }
    let pipe = Pipe()
    try bus.freeze()
    for (index, client) in clients.enumerated() {
      guard index < sockets.count else {
        try Way.neverRead.send(pipe.fileHandleForWriting.fileDescriptor, from: client)
        continue
      }
      try Way.neverRead.send(sockets[index].rawDescriptor, from: client)
      sockets[index].leave()
    }
    bus.signal(SIGCONT)
    for client in clients { #expect(try client.nextError() == .unexpectedDescriptors) }
    try pipe.expectClosed()
    try bus.wait(serving: other) { try bus.openDescriptors() < before + clients.count / 2 }
    withExtendedLifetime(sockets) {}
    #expect(bus.stop() == 0)
  }

  @Test("urgent bytes are read in their place, and their descriptors are closed like any other")
  func urgent() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    let bytes = RawClient.bytes { $0.appendFrame(Post(), flags: .acknowledge, serial: 1, name: "a.b") }
    try client.send(Array(bytes.dropLast()))
    var last = bytes[bytes.count - 1]
    let sent = unsafe Glibc.send(client.rawDescriptor, &last, 1, CInt(MSG_OOB) | CInt(MSG_NOSIGNAL))
    #expect(sent == 1)
    #expect(try client.next().kind == .ok)
  }

  /// Since Linux 6.16, the kernel can keep peers from sending descriptors to a socket.
  private static let canRefuseDescriptors: Bool = {
    var value: CInt = 0
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    let length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe setsockopt(socket, SOL_SOCKET, TRIBUNE_SO_PASSRIGHTS, &value, length) == 0
  }()

  @Test(
    "a connection has no descriptors before it is admitted, and none is lost by that",
    .enabled(if: canRefuseDescriptors))
  func notAdmitted() throws {
    let bus = try TestBus()
    let file = try SharedFile.make(SharedFile.bytes(Self.floor))
    try bus.freeze()
    let client = try RawClient(bus)
    #expect(throws: Errno(rawValue: EPERM)) { try client.send([0], with: [file.rawValue]) }
    bus.signal(SIGCONT)
    try client.greet()
    try client.post("a.b", file: file, length: Self.floor, serial: 1, flags: .acknowledge)
    #expect(try client.next().kind == .ok)
    #expect(bus.stop() == 0)
  }

  @Test("after a restart, a partial frame is refused if it had a descriptor; other frames are not")
  func restarted() throws {
    let bus = try RestartedBus()
    let client = try RawClient.greeted(bus)
    let post = RawClient.post("a.b", length: Self.floor, serial: 7)
    let socket = try LingeringSocket()
    defer { socket.end() }
    try client.send(Array(post.prefix(10)), with: [socket.rawDescriptor])
    try RawClient.greeted(bus).settle()
    try bus.restart()
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
