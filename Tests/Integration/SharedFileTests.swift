// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Glibc
import Testing
import Tribune
import TribuneSystem
import TribuneWire

@Suite("userInfo in files", .timeLimit(.minutes(15)))
struct SharedFileTests {
  private static let floor = WireLimits.descriptorPayloadLength

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test(
    "the library's posts of any length arrive whole and in order",
    arguments: [floor - 1, floor, 1 << 20, 16 << 20])
  func library(length: Int) async throws {
    let poster = try await bus.connect()
    let observer = try await bus.connect()
    let other = try await bus.connect()
    var deliveries = try await observer.observe(anyOf: ["a.*", "a.long", "**"]).makeAsyncIterator()
    var others = try await other.observe("a.long").makeAsyncIterator()
    let userInfo = UserInfo(SharedFile.bytes(length))
    try await poster.post("a.short", userInfo: "1")
    try await poster.post("a.long", userInfo: userInfo)
    try await poster.postAcknowledged("a.long", userInfo: userInfo)
    try await poster.post("a.short", userInfo: "2")

    func next(_ name: String, _ userInfo: UserInfo) async throws -> UserInfo {
      let notification = Notification(name, sender: poster.id, userInfo: userInfo)
      let delivery = try await deliveries.next()
      #expect(delivery == .notification(notification))
      guard case .notification(let received)? = delivery else { return .none }
      return received.userInfo
    }
    _ = try await next("a.short", "1")
    let first = try await next("a.long", userInfo)
    #expect(first.count == length)
    #expect(first.hashValue == userInfo.hashValue)
    #expect(first.withBytes { $0.byteCount } == length)
    _ = try await next("a.long", userInfo)
    _ = try await next("a.short", "2")
    for _ in 0..<2 { _ = try await others.next() }
    try awaitClosed(bus)
    await poster.close()
    await observer.close()
    await other.close()
  }

  @Test("many long posts arrive, and leave no file open")
  func many() async throws {
    let poster = try await bus.connect()
    let observer = try await bus.connect()
    let own = try ThisProcess.openFiles()
    var deliveries = try await observer.observe("a.*").makeAsyncIterator()
    let posting = Task {
      for number in 0..<1500 {
        let userInfo = UserInfo(
          SharedFile.bytes(Self.floor + number, seed: UInt8(truncatingIfNeeded: number)))
        try await poster.post("a.b", object: "\(number)", userInfo: userInfo)
      }
    }
    var received = 0
    var lost = 0
    while received + lost < 1500 {
      switch try await deliveries.next() {
      case .notification(let notification):
        let number = try #require(Int(notification.object))
        #expect(number == received + lost)
        #expect(notification.userInfo.count == Self.floor + number)
        #expect(notification.userInfo.withBytes { $0.integer(at: 0, as: UInt8.self) } == UInt8(number % 256))
        received += 1
      case .lost(let count): lost += count
      case .interrupted, nil: Issue.record("the observation ended")
      }
    }
    try await posting.value
    #expect(received + lost == 1500)
    try awaitClosed(bus)
    // The last one can arrive before the threads of either connection have closed their descriptors. An `ok` comes
    // after that.
    for client in [poster, observer] { try await client.postAcknowledged("b.c") }
    #expect(try ThisProcess.openFiles() <= own)
    await poster.close()
    await observer.close()
  }

  @Test("an observer that accepts files gets the same file, another observer the bytes")
  func bothKinds() throws {
    let taking = try RawClient.greeted(bus, capabilities: .descriptors)
    let (plain, poster) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    for observer in [taking, plain] { try observer.observe("a.*", serial: 1) }
    let bytes = SharedFile.bytes(Self.floor + 5)
    let file = try SharedFile.make(bytes)
    for serial in 7..<9 {
      try poster.post(
        "a.b", object: "o", file: file, length: bytes.count, serial: Serial(serial), flags: .acknowledge)
      #expect(try poster.next(.ok).header.serial == Serial(serial))
      let shared = try taking.next()
      #expect(shared.kind == .post && shared.header.flags == [.acknowledge, .descriptor])
      #expect(shared.name == "a.b" && shared.object == "o" && shared.payloadBytes.isEmpty)
      #expect(try Int(shared.decode(Post.self).length) == bytes.count)
      let same = try taking.takeFile(length: bytes.count)
      #expect(try Self.identity(same.rawDescriptor) == Self.identity(file.rawValue))
      let inline = try plain.next()
      #expect(inline.kind == .post && inline.header.flags == .acknowledge)
      #expect(inline.header.serial == Serial(serial) && inline.header.sender == shared.header.sender)
      #expect(inline.name == "a.b" && inline.object == "o" && inline.payloadBytes == bytes)
      #expect(try inline.decode(Post.self).length == 0)
    }
    #expect(plain.passedCount == 0)
    try awaitClosed(bus)
  }

  @Test("a monitor sees the frame without the file")
  func monitored() throws {
    let poster = try RawClient.greeted(bus)
    let monitor = try RawClient.greeted(bus, capabilities: .descriptors)
    try monitor.sendConfirmed(Monitor(), serial: 1, name: "a.b")
    let bytes = SharedFile.bytes(Self.floor)
    try poster.post("a.b", file: try SharedFile.make(bytes), length: bytes.count, serial: 1)
    let traffic = try monitor.next(.traffic)
    #expect(traffic.payloadBytes.count < 256)
    #expect(monitor.passedCount == 0)
  }

  @Test("userInfo in a file is checked against the object's protocol")
  func declared() throws {
    let folder = try TestFolder()
    try folder.write("protocol P { optional did a.didB (text: string) }\n", to: "etc/protocols.d/p.protocol")
    let bus = try TestBus(configuration: "[Object \"o\"]\nProtocol=P\n", folder: folder)
    let (observer, poster) = (try RawClient.observing("a.*", on: bus), try RawClient.greeted(bus))
    let text = String(repeating: "?", count: Self.floor)
    for (json, error) in [
      ("{\"text\":\"\(text)\"}", nil), ("{\"test\":\"\(text)\"}", ErrorCode.invalidParameter),
    ] {
      let bytes = Array(json.utf8)
      try poster.post(
        "a.didB", object: "o", file: try SharedFile.make(bytes), length: bytes.count, serial: 1,
        flags: .acknowledge)
      let reply = try poster.next()
      #expect(try (reply.kind == .ok ? nil : reply.decode(Refusal.self).code) == error)
      if error == nil { #expect(try observer.next().payloadBytes == bytes) }
    }
    try observer.expectSilence()
  }

  @Test(
    "a wrong file is refused and closed, and the connection goes on",
    arguments: [
      // Without seals, longer than announced, under 64 KiB, empty.
      (floor, floor, 0, .invalidDescriptor), (floor + 1, floor, SharedFile.seals, .invalidDescriptor),
      (65_535, 65_535, SharedFile.seals, .invalidDescriptor), (0, 0, SharedFile.seals, .invalidDescriptor),
      (floor, (16 << 20) + 1, SharedFile.seals, .invalidValue),
      (floor, Int(UInt32.max), SharedFile.seals, .invalidValue),
    ] as [(Int, Int, CInt, ErrorCode)])
  func refused(length: Int, said: Int, seals: CInt, code: ErrorCode) throws {
    let (observer, poster) = (try RawClient.observing("a.b", on: bus), try RawClient.greeted(bus))
    let file = try SharedFile.make(SharedFile.bytes(length), seals: seals)
    try poster.post("a.b", file: file, length: said, serial: 9)
    let refusal = try poster.next()
    #expect(refusal.kind == .error && refusal.header.serial == 9)
    #expect(try refusal.decode(Refusal.self).code == code)
    let good = SharedFile.bytes(Self.floor)
    try poster.post("a.b", file: try SharedFile.make(good), length: good.count, serial: 10)
    #expect(try observer.next().payloadBytes == good)
    try observer.expectSilence()
    try awaitClosed(bus)
  }

  @Test(
    "surplus descriptors end the connection, and are closed",
    arguments: [(1, false), (2, true), (16, true), (17, true), (100, true), (17, false), (253, false)])
  func surplus(count: Int, isTaken: Bool) throws {
    let client = try RawClient.greeted(bus)
    let file = try SharedFile.make(SharedFile.bytes(Self.floor))
    let frame =
      isTaken
      ? RawClient.post("a.b", length: Self.floor, serial: 4)
      : RawClient.bytes { $0.appendFrame(Post(), serial: 1, name: "a.b") }
    try client.send(frame, with: [CInt](repeating: file.rawValue, count: count))
    try client.expectClosed(with: .unexpectedDescriptors)
    try awaitClosed(bus)
  }

  @Test("at most 16 descriptors may arrive before their frames are whole", arguments: [16, 17])
  func early(count: Int) throws {
    let (observer, poster) = (try RawClient.observing("a.b", on: bus), try RawClient.greeted(bus))
    let bytes = SharedFile.bytes(Self.floor)
    let file = try SharedFile.make(bytes)
    var frames: [UInt8] = []
    for serial in 0..<count { frames += RawClient.post("a.b", length: bytes.count, serial: Serial(serial)) }
    for byte in frames[..<count] { try poster.send([byte], with: [file.rawValue]) }
    if count <= 16 {
      try poster.send(Array(frames[count...]))
      for serial in 0..<count {
        let frame = try observer.next()
        #expect(frame.header.serial == Serial(serial))
        #expect(frame.payloadBytes == bytes)
      }
    } else {
      #expect(try poster.nextError() == .unexpectedDescriptors)
    }
  }

  @Test("descriptors of a partial frame are closed with their client's connection")
  func gone() throws {
    let other = try RawClient.greeted(bus)
    let pipe = Pipe()
    do {
      let poster = try RawClient.greeted(bus)
      let before = try bus.openDescriptors()
      let frame = RawClient.post("a.b", length: Self.floor, serial: 1)
      try poster.send(
        Array(frame[..<40]), with: [CInt](repeating: pipe.fileHandleForWriting.fileDescriptor, count: 3))
      // The bus has read it once another client has been served twice.
      for _ in 0..<2 { try other.settle() }
      #expect(try bus.openDescriptors() == before + 3)
    }
    try pipe.expectClosed()
  }

  @Test("an observer that does not read loses files, with a count, and uses neither memory nor descriptors")
  func hung() throws {
    let poster = try RawClient.greeted(bus)
    let (hung, healthy) = (try observingFiles(on: bus), try observingFiles(on: bus))
    let length = 1 << 20
    let posted = 300
    for number in 0..<posted {
      let file = try SharedFile.make(SharedFile.bytes(length, seed: UInt8(number % 256)))
      try poster.post("a.b", file: file, length: length, serial: Serial(number), flags: .acknowledge)
      #expect(try healthy.next().header.serial == Serial(number))
      _ = try healthy.takeFile(length: length)
      _ = try poster.next(.ok)
    }
    #expect(try bus.openFiles() <= 2)
    #expect(try bus.processStatus("VmHWM") < 64 << 10)
    try poster.send(Post(), serial: Serial(posted), name: "a.last")
    #expect(try healthy.next().name == "a.last")

    var received = 0
    var lost = 0
    var last = -1
    while last < posted {
      let frame = try hung.next()
      if frame.kind == .lost {
        lost += Int(try frame.decode(Lost.self).count)
      } else {
        #expect(Int(frame.header.serial) > last)
        last = Int(frame.header.serial)
        if last < posted { _ = try hung.takeFile(length: length) }
        received += 1
      }
    }
    #expect(received + lost == posted + 1)
    #expect(lost > 0)
    // The poster pays for the files in the socket, so they are few.
    #expect(received <= 64 + 3)
    try awaitClosed(bus)
  }

  @Test("a user whose share of files is queued can post no more of them, but can still post without files")
  func tooMany() throws {
    let bus = try TestBus(configuration: "[Queue]\nHighMark=512M\nHardLimit=1G\n")
    let (hung, poster) = (try observingFiles(on: bus), try RawClient.greeted(bus))
    let file = try SharedFile.make(SharedFile.bytes(Self.floor))
    var taken = 0
    var refused = 0
    for number in 0..<1500 {
      try poster.post("a.b", file: file, length: Self.floor, serial: Serial(number), flags: .acknowledge)
      let reply = try poster.next()
      if reply.kind == .ok {
        #expect(refused == 0)
        taken += 1
      } else {
        #expect(try reply.decode(Refusal.self).code == .limitExceeded)
        refused += 1
      }
    }
    // The user of the bus may have all 1,024; the observer's socket has some more.
    #expect(taken >= 1024 && taken < 1024 + 400 && refused > 0)
    try poster.settle()
    for serial in 0..<taken {
      #expect(try hung.next().header.serial == Serial(serial))
      _ = try hung.takeFile(length: Self.floor)
    }
    try poster.post("a.b", file: file, length: Self.floor, serial: 1, flags: .acknowledge)
    _ = try poster.next(.ok)
  }

  @Test("a file for which the bus has no descriptor fails only its own post")
  func noDescriptors() throws {
    let bus = try TestBus(wrapper: ["/usr/bin/prlimit", "--nofile=40:40"])
    let (observer, poster) = (try RawClient.observing("a.b", on: bus), try RawClient.greeted(bus))
    let bytes = SharedFile.bytes(Self.floor)
    let file = try SharedFile.make(bytes)
    var fillers = try (0..<2).map { _ in try RawClient.greeted(bus) }
    let pipe = Pipe()
    for filler in fillers {
      try filler.send([45], with: [CInt](repeating: pipe.fileHandleForWriting.fileDescriptor, count: 16))
    }
    try bus.wait(serving: poster) { try bus.openDescriptors() >= 40 }
    try poster.post("a.b", file: file, length: bytes.count, serial: 5)
    #expect(try poster.nextError() == .limitExceeded)
    try poster.send(Post(), serial: 6, name: "a.b")
    #expect(try observer.next().header.serial == 6)
    fillers.removeAll()
    try pipe.expectClosed()
    try poster.post("a.b", file: file, length: bytes.count, serial: 7)
    #expect(try observer.next().payloadBytes == bytes)
  }

  private func observingFiles(on bus: TestBus) throws -> RawClient {
    let observer = try RawClient.greeted(bus, capabilities: .descriptors)
    try observer.observe("a.*", serial: 1)
    return observer
  }

  /// The bus closes memfds after it has replied.
  private func awaitClosed(_ bus: TestBus) throws {
    try bus.wait { try bus.openFiles() == 0 }
  }

  private static func identity(_ descriptor: CInt) throws -> [UInt64] {
    var status = stat()
    _ = try retrying { unsafe fstat(descriptor, &status) }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}
