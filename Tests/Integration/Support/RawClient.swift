// SPDX-License-Identifier: Apache-2.0

import CThreadUser
import CTribuneLinux
import Glibc
import TribuneSystem
import TribuneTestSupport
import TribuneWire

protocol ServedBus {
  var path: String { get }
}

final class RawClient {
  struct Frame {
    let header: FrameHeader
    let bytes: [UInt8]

    var kind: FrameKind? { header.kind }
    var name: String { text(header.nameStart..<header.objectStart) }
    var object: String { text(header.objectStart..<header.payloadStart) }
    var payload: String { text(header.payloadStart..<header.frameLength) }
    var payloadBytes: [UInt8] { Array(bytes[header.payloadStart..<header.frameLength]) }

    func decode<F: FrameFields>(_ type: F.Type) throws -> F {
      let buffer = ByteBuffer(holding: bytes)
      return try FrameView(header, buffer.bytes).decode(F.self)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
  }

  struct Ended: Error {}

  private let descriptor: FileDescriptor
  private let received = ByteBuffer(capacity: 65_536)
  private var position = 0
  private var passed = PassedDescriptors()

  /// Only root may connect as another user.
  init(path: String, user: UInt32? = nil) throws {
    descriptor = try UnixSocket.make(nonblocking: false)
    if let user { _ = try retrying { thread_user_set(user) } }
    defer { if user != nil { precondition(thread_user_set(0) == 0) } }
    try UnixSocket.connect(descriptor, to: path)
    try descriptor.setTimeouts(seconds: Programs.patienceSeconds)
  }

  init(acceptedAt listener: borrowing FileDescriptor) throws {
    try listener.setTimeouts(seconds: Programs.patienceSeconds)
    let socket = listener.rawValue
    descriptor = FileDescriptor(owning: try retrying { Glibc.accept(socket, nil, nil) })
    try descriptor.setTimeouts(seconds: Programs.patienceSeconds)
  }

  static func welcoming(at listener: borrowing FileDescriptor) throws -> RawClient {
    let client = try RawClient(acceptedAt: listener)
    _ = try client.readHello()
    try client.send { Hello().append(to: $0) }
    try client.send(
      Welcome(
        connection: ConnectionID(rawValue: 1), payloadMax: 1 << 20, observationsMax: 1, delegatesMax: 1,
        queriesMax: 1, deadlineMax: 60_000, deadlineDefault: 30_000, busPID: 1, software: "test"), serial: 0)
    return client
  }

  convenience init(_ bus: some ServedBus) throws { try self.init(path: bus.path) }

  static func welcomed(
    _ bus: some ServedBus, capabilities: Hello.Capabilities = []
  ) throws -> (client: RawClient, welcome: Welcome) {
    let client = try RawClient(bus)
    return (client, try client.greet(capabilities: capabilities))
  }

  static func greeted(_ bus: some ServedBus, as user: UInt32) throws -> RawClient {
    let client = try RawClient(path: bus.path, user: user)
    try client.greet()
    return client
  }

  static func greeted(_ bus: some ServedBus, capabilities: Hello.Capabilities = []) throws -> RawClient {
    try welcomed(bus, capabilities: capabilities).client
  }

  static func observing(
    _ pattern: String = "", object: String = "", on bus: some ServedBus
  ) throws -> RawClient {
    let client = try greeted(bus)
    try client.observe(pattern, object: object, serial: 1)
    return client
  }

  @discardableResult
  func greet(capabilities: Hello.Capabilities = []) throws -> Welcome {
    try send { Hello(capabilities: capabilities).append(to: $0) }
    _ = try readHello()
    return try next(.welcome).decode(Welcome.self)
  }

  var rawDescriptor: CInt { descriptor.rawValue }

  func setPatience(seconds: Int) throws { try descriptor.setTimeouts(seconds: seconds) }

  // MARK: Sending

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      sent += try retrying {
        unsafe bytes.withUnsafeBytes { bytes in
          unsafe Glibc.send(
            descriptor.rawValue, bytes.baseAddress.map { unsafe $0 + sent }, bytes.count - sent,
            CInt(MSG_NOSIGNAL))
        }
      }
    }
  }

  func send(_ fill: (ByteBuffer) -> Void) throws { try send(Self.bytes(fill)) }

  static func bytes(_ fill: (ByteBuffer) -> Void) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 256)
    fill(buffer)
    return buffer.array
  }

  func send<F: FrameFields>(
    _ fields: F, serial: Serial, flags: FrameFlags = [], name: String = "", object: String = "",
    text: String = ""
  ) throws {
    try send {
      $0.appendFrame(fields, flags: flags, serial: serial, name: name, object: object, text: text)
    }
  }

  func sendWithoutWaiting(_ bytes: [UInt8]) throws -> Int {
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    let count = unsafe Glibc.send(descriptor.rawValue, bytes, bytes.count, flags)
    if count == -1, errno == EAGAIN { return 0 }
    guard count >= 0 else { throw Errno.current }
    return count
  }

  func endSending() { UnixSocket.endWriting(descriptor) }

  func leave() throws {
    endSending()
    _ = try readToEnd()
  }

  // MARK: Receiving

  /// Throws `Ended` if the bus has closed the connection; `Errno.again` after a time-out.
  func readHello() throws -> Hello {
    let received = received
    while true {
      if let hello = try Hello(received.bytes(in: position..<received.count)) {
        position += Hello.length
        return hello
      }
      try readMore()
    }
  }

  func next() throws -> Frame {
    let received = received
    while true {
      if let header = try FrameHeader(received.bytes, at: position, limits: .fromBus),
        received.count - position >= header.frameLength
      {
        let range = position..<position + header.frameLength
        position = range.upperBound
        return Frame(header: header, bytes: [UInt8](received.bytes(in: range)))
      }
      try readMore()
    }
  }

  /// Skips other frames.
  func next(_ kind: FrameKind) throws -> Frame {
    while true {
      let frame = try next()
      if frame.kind == kind { return frame }
    }
  }

  func nextError() throws -> ErrorCode? { try next(.error).decode(Refusal.self).code }

  func readToEnd() throws -> [Frame] {
    var frames: [Frame] = []
    try readToEnd { frames.append($0) }
    return frames
  }

  func readToEnd(_ body: (Frame) -> Void) throws {
    do {
      while true { body(try next()) }
    } catch is Ended {
      return
    }
  }

  func bytesToEnd() throws -> [UInt8] {
    let received = received
    var bytes: [UInt8] = []
    do {
      while true {
        if position == received.count { try readMore() }
        bytes += [UInt8](received.bytes(in: position..<received.count))
        position = received.count
      }
    } catch is Ended {
      return bytes
    }
  }

  /// Waits until the bus has taken everything sent before.
  func settle(serial: Serial = .max) throws {
    try send(Post(), serial: serial, flags: .acknowledge, name: "test.settled")
    while try next(.ok).header.serial != serial {}
  }

  func read(atMost count: Int) throws { try readMore(atMost: count) }

  private func readMore(atMost most: Int = 65_536) throws {
    if position == received.count {
      received.truncate(to: 0)
      position = 0
    }
    var byte: UInt8 = 0
    let count = unsafe recv(descriptor.rawValue, &byte, 1, CInt(MSG_PEEK))
    if count == 0 || (count == -1 && errno == ECONNRESET) { throw Ended() }
    guard count > 0 else { throw Errno.current }
    let bytes = ByteBuffer(capacity: most)
    if try UnixSocket.receive(from: descriptor, into: bytes, &passed) == .descriptors {
      throw Programs.Missing(description: "more descriptors came at once than one read takes")
    }
    received.append(bytes.bytes)
  }

  func takeFile(length: Int) throws -> MemoryFile {
    guard case .descriptor(let descriptor)? = passed.popFirst() else {
      throw Programs.Missing(description: "no descriptor came")
    }
    return try MemoryFile(checking: descriptor, length: length)
  }

  var passedCount: Int { passed.count }
}

extension ByteBuffer {
  func append(_ bytes: [UInt8]) { append(unsafe bytes.span.bytes) }
}

extension UnixSocket {
  /// A socket at which a test plays the bus.
  static func listening(at path: String) throws(Errno) -> FileDescriptor {
    let listener = try make(nonblocking: false)
    try bind(listener, to: path)
    try listen(listener)
    return listener
  }
}
