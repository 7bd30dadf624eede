// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Synchronization
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

final class ScriptedBus: Sendable {
  let address: Address
  private let directory: String
  private let listener: FileDescriptor

  init() throws {
    var template = Array("/tmp/tribune-test-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { name in
      unsafe name.baseAddress.map { unsafe mkdtemp($0) != nil }
    }
    guard made == true else { throw Errno.current }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    address = Address(path: directory + "/bus")
    listener = try UnixSocket.make(nonblocking: true)
    try UnixSocket.bind(listener, to: address.path)
    try UnixSocket.listen(listener)
  }

  deinit {
    _ = unsafe unlink(address.path)
    _ = unsafe rmdir(directory)
  }

  /// Plays the bus to one client, then closes the connection.
  ///
  /// On its own thread, because busy test threads would use up the client's patience.
  func play<Value: Sendable>(
    _ script: @escaping @Sendable (ScriptedPeer) throws -> Value
  ) throws -> Playing<Value> {
    let playing = Playing<Value>()
    try Thread.start { [self] in playing.end(Result { try script(try accept()) }) }
    return playing
  }

  func accept() throws -> ScriptedPeer {
    let deadline = ContinuousClock.now.advanced(by: ScriptedPeer.patience)
    while ContinuousClock.now < deadline {
      if try isReadable(listener), let socket = try UnixSocket.accept(listener) {
        return ScriptedPeer(socket, of: self)
      }
    }
    throw ScriptedPeer.Failure("nobody connected")
  }
}

final class Playing<Value: Sendable>: Sendable {
  private let (results, result) = AsyncThrowingStream<Value, any Error>.makeStream()

  fileprivate func end(_ value: Result<Value, any Error>) {
    result.yield(with: value)
    result.finish()
  }

  var value: Value {
    get async throws {
      for try await value in results { return value }
      throw CancellationError()
    }
  }
}

/// A bus greets a client, follows the script, and returns its result.
///
/// The bus reads to the end after the script. With `busEndsFirst`, it closes the connection instead.
func conversation<Value: Sendable>(
  payloadMax: UInt32 = 1 << 20, capabilities: Hello.Capabilities = [],
  reconnectingFor patience: Duration = .seconds(10), busEndsFirst: Bool = false,
  _ script: @escaping @Sendable (ScriptedPeer) throws -> Value,
  client: (Connection) async throws -> Void
) async throws -> Value {
  let bus = try ScriptedBus()
  let playing: Playing<Value> = try bus.play { peer in
    try peer.greet(payloadMax: payloadMax, capabilities: capabilities)
    let value = try script(peer)
    if !busEndsFirst { try peer.readToEnd() }
    return value
  }
  let connection = try await Connection.connect(to: bus.address, reconnectingFor: patience)
  try await client(connection)
  if !busEndsFirst { await connection.close() }
  let value = try await playing.value
  await connection.close()
  return value
}

func expectSilence(
  sourceLocation: SourceLocation = #_sourceLocation, of client: (Connection) async throws -> Void
) async throws {
  let isSilent = try await conversation({ peer in try peer.nextIfAny() == nil }, client: client)
  #expect(isSilent, sourceLocation: sourceLocation)
}

private func isReadable(_ descriptor: borrowing FileDescriptor) throws -> Bool {
  try Poll.wait(for: descriptor, forWriting: false, wakeup: try Wakeup(), timeout: .seconds(1)).isReadable
}

func greeting(_ hello: Hello = Hello(), write: (ByteBuffer) -> Void = { _ in }) -> [UInt8] {
  let buffer = ByteBuffer(capacity: 256)
  hello.append(to: buffer)
  write(buffer)
  return [UInt8](buffer.bytes)
}

/// A client, as the bus sees it. All methods block, and fail after 50 seconds.
///
/// It obeys the client's `room` and keeps the limits, but never returns such a frame.
final class ScriptedPeer {
  static let patience = Duration.seconds(50)

  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  struct Frame {
    let header: FrameHeader
    fileprivate let buffer: ByteBuffer

    var view: FrameView {
      @_lifetime(borrow self)
      get { FrameView(header, buffer.bytes) }
    }

    func decode<F: FrameFields>(_ type: F.Type) throws(WireError) -> F { try view.decode(type) }
    var name: String { String(repairing: view.name) }
    var object: String { String(repairing: view.object) }
    var payload: String { String(repairing: view.payload) }
    var serial: Serial { header.serial }
  }

  let bus: ScriptedBus
  var successor: ScriptedPeer?
  private let socket: FileDescriptor
  private var input = ByteBuffer(capacity: 1 << 16)
  private var consumed = 0
  private(set) var early: [Frame] = []
  private let slices = GatherList(capacity: 1)
  /// Counted as in `succeed`.
  private(set) var sent: UInt64 = 0
  private(set) var limits: [UInt64] = []
  private var passed = PassedDescriptors()

  fileprivate init(_ socket: consuming FileDescriptor, of bus: ScriptedBus) {
    self.socket = socket
    self.bus = bus
  }

  func greet(
    as id: UInt64 = 7, payloadMax: UInt32 = 1 << 20, capabilities: Hello.Capabilities = [],
    isHelloRead: Bool = false
  ) throws {
    if !isHelloRead { try readHello() }
    let welcome = Welcome(
      connection: ConnectionID(rawValue: id), payloadMax: payloadMax, observationsMax: 64, delegatesMax: 64,
      queriesMax: 64, deadlineMax: 3_600_000, deadlineDefault: 30_000, busPID: 4242, software: "scripted 1")
    try send(greeting(Hello(capabilities: capabilities)) { $0.appendFrame(welcome, serial: 0) })
  }

  @discardableResult func readHello() throws -> Hello {
    while true {
      if let hello = try Hello(input.bytes) {
        consumed = Hello.length
        return hello
      }
      try receive()
    }
  }

  func next(_ kind: FrameKind) throws -> Frame {
    guard let frame = try nextIfAny() else {
      throw Failure("the client ended before a frame of kind \(kind)")
    }
    guard frame.header.kind == kind else {
      throw Failure("a frame of kind \(frame.header.rawKind) came where \(kind) was to come")
    }
    return frame
  }

  func nextIfAny() throws -> Frame? {
    if !early.isEmpty { return early.removeFirst() }
    while let frame = try nextOfAnyKind() {
      guard frame.header.kind == .room else { return frame }
      try take(frame)
    }
    return nil
  }

  /// Reads up to a `room`.
  func nextLimit() throws -> UInt64 {
    while let frame = try nextOfAnyKind() {
      guard frame.header.kind == .room else {
        early.append(frame)
        continue
      }
      try take(frame)
      return limits.last ?? 0
    }
    throw Failure("the client ended before a limit")
  }

  private func take(_ frame: Frame) throws {
    let limit = try frame.decode(Room.self).limit
    #expect(frame.serial == 0 && limit >= limits.last ?? 0)
    limits.append(limit)
  }

  private func nextOfAnyKind() throws -> Frame? {
    while true {
      if let header = try FrameHeader(input.bytes, at: consumed, limits: .fromBus),
        input.count - consumed >= header.frameLength
      {
        let buffer = ByteBuffer(capacity: header.frameLength)
        buffer.append(input.bytes(in: consumed..<consumed + header.frameLength))
        consumed += header.frameLength
        return Frame(header: header, buffer: buffer)
      }
      guard try receive() else { return nil }
    }
  }

  func readToEnd() throws {
    while try nextIfAny() != nil {}
  }

  func close() { UnixSocket.shutdown(socket) }

  func endReading() { _ = shutdown(socket.rawValue, CInt(SHUT_RD)) }

  func send<F: FrameFields>(
    _ fields: F, flags: FrameFlags = [], sender: ConnectionID = .bus, serial: Serial = 0, name: String = "",
    object: String = "", text: String = ""
  ) throws {
    if [.post, .retained, .traffic].contains(F.kind) {
      while let limit = limits.last, sent >= limit { _ = try nextLimit() }
      sent &+= 1
    }
    if let lost = fields as? Lost { sent = sent.saturatingAdding(lost.count) }
    let out = ByteBuffer(capacity: 256)
    out.appendFrame(
      fields, flags: flags, sender: sender, serial: serial, name: name, object: object, text: text)
    try send(out)
  }

  func post(_ name: String, object: String = "", text: String = "") throws {
    try send(Post(), sender: ConnectionID(rawValue: 9), serial: 1, name: name, object: object, text: text)
  }

  @discardableResult func confirmObservation(retained: UInt32 = 0) throws -> Frame {
    let observe = try next(.observe)
    try send(Okay(registration: observe.serial, retained: retained), serial: observe.serial)
    return observe
  }

  func reply(to ask: Frame, _ verdict: VerdictKind = .allowed, query: UInt64 = 5) throws {
    try send(
      TribuneWire.Verdict(
        query: QueryID(rawValue: query), verdict: verdict, isUnanswered: true, outcomes: []),
      serial: ask.serial)
  }

  func list(_ subject: ListSubject, name: String = "", object: String = "", _ entries: [Entry]) throws {
    let list = try next(.list)
    #expect(try list.decode(List.self) == List(subject))
    #expect([list.name, list.object] == [name, object])
    for entry in entries { try send(entry, serial: list.serial) }
    try send(Okay(), serial: list.serial)
  }

  func confirmPost() throws {
    let post = try next(.post)
    try send(Okay(), serial: post.serial)
  }

  func send(_ bytes: [UInt8]) throws {
    let out = ByteBuffer(capacity: bytes.count)
    out.append(bytes.rawBytes)
    try send(out)
  }

  func takeFile(length: Int) throws -> MemoryFile {
    guard case .descriptor(let descriptor)? = passed.popFirst() else { throw Failure("no descriptor came") }
    return try MemoryFile(checking: descriptor, length: length)
  }

  var hasDescriptors: Bool { !passed.isEmpty }

  func send(_ out: ByteBuffer) throws {
    var sent = 0
    let deadline = ContinuousClock.now.advanced(by: Self.patience)
    while sent < out.count {
      guard ContinuousClock.now < deadline else { throw Failure("the client does not read") }
      slices.append(sent..<out.count, of: out)
      let count = try slices.send(to: socket)
      sent += count
      if count == 0 {
        _ = try Poll.wait(for: socket, forWriting: true, wakeup: try Wakeup(), timeout: .seconds(1))
      }
    }
  }

  /// Returns false if the client has ended.
  @discardableResult private func receive() throws -> Bool {
    let rest = ByteBuffer(capacity: input.count - consumed + 1 << 16)
    rest.append(input.bytes(in: consumed..<input.count))
    input = rest
    consumed = 0
    let deadline = ContinuousClock.now.advanced(by: Self.patience)
    while ContinuousClock.now < deadline {
      // Waits first, because thrown errors are expensive under Swift Testing.
      guard try isReadable(socket) else { continue }
      do {
        switch try UnixSocket.receive(from: socket, into: input, &passed) {
        case .bytes: return true
        case .nothing: break
        case .end: return false
        case .descriptors: throw Failure("the client sent many descriptors at once")
        }
      } catch let error as Errno where error.isDisconnection {
        return false
      }
    }
    throw Failure("nothing came from the client")
  }
}
