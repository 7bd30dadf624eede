// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A bus whose loop iterations the test makes. Between steps, the test can read the log, or end the bus.
@MainActor
final class SteppedBus {
  let server: BusServer
  let keeper: KeeperLink
  private let loop: EventLoop
  private let folder: TemporaryFolder

  private static let slotCount = 64

  /// Segments are as long as `configuration` needs. By default, work takes no time.
  init(
    _ configuration: Configuration = Configuration(), timeShares: TimeShares = TimeShares(clock: nil)
  ) throws {
    folder = try TemporaryFolder()
    let state = try WriteAheadLog(
      slotCount: Self.slotCount, segmentCapacity: configuration.segmentLength)
    loop = try EventLoop(hostsMainQueue: false)
    keeper = KeeperLink(path: "\(folder.path)/keeper", manager: nil, loop: loop, log: Self.log)
    server = try BusServer(
      configuration: configuration, log: Self.log, loop: loop, wal: state, keeper: keeper,
      timeShares: timeShares)
    try server.acceptor.listen(on: try Listener(path: "\(folder.path)/bus", mode: 0o600))
  }

  private init(
    succeeding other: SteppedBus, _ configuration: Configuration?, _ passed: PassedAtStart,
    _ watch: (BusServer, _ takeOver: () -> Void) -> Void
  ) throws {
    folder = other.folder
    guard let file = passed.takeLog() else { preconditionFailure("the log was passed") }
    loop = try EventLoop(hostsMainQueue: false)
    keeper = KeeperLink(path: "\(folder.path)/keeper", manager: nil, loop: loop, log: Self.log)
    server = try BusServer(
      configuration: configuration ?? other.server.context.configuration, log: Self.log, loop: loop,
      wal: try WriteAheadLog(adopting: file), keeper: keeper, timeShares: TimeShares(clock: nil))
    let committed = other.server.bus.value.digest()
    watch(server) { [server] in server.takeOver(passed) }
    let differences = server.replayed.map { committed.differences(from: $0) }
    #expect(differences == [], "the replay differs from what was committed")
    for listener in other.server.acceptor.listeners { try server.acceptor.listen(on: listener) }
  }

  private static let log = Log(level: .error, journal: nil)

  private func left(withConnections: Bool) throws -> PassedAtStart {
    var items = [KeptItem.log(0)]
    var copies = PassedDescriptors()
    copies.append(owning: try FileDescriptor.duplicate(of: server.wal.rawDescriptor).release())
    for session in server.sessions.all where withConnections && session.isKept {
      items.append(.connection(session.cookie))
      copies.append(owning: try session.descriptor.duplicate().release())
    }
    for (item, entry) in keeper.entries where item.kind == .file {
      items.append(item)
      copies.append(owning: try FileDescriptor.duplicate(of: entry.descriptor).release())
    }
    let passed = PassedAtStart()
    passed.take(items, copies)
    return passed
  }

  /// The bus that takes over if this one dies now. Do not use this one afterwards.
  func successor(
    _ configuration: Configuration? = nil, isKept: Bool = true,
    watch: (BusServer, _ takeOver: () -> Void) -> Void = { $1() }
  ) throws -> SteppedBus {
    try SteppedBus(succeeding: self, configuration, left(withConnections: isKept), watch)
  }

  // MARK: Clients

  struct Client {
    let id: ConnectionID
    fileprivate let socket: Socket

    fileprivate final class Socket {
      let descriptor: FileDescriptor
      let received = ByteBuffer(capacity: 1 << 20)

      init(connectedTo path: String) throws {
        descriptor = try UnixSocket.make(nonblocking: true)
        try UnixSocket.connect(descriptor, to: path)
      }
    }

    /// The bus reads it in `read`.
    func send<F: FrameFields>(_ fields: F, serial: Serial, name: String = "") throws {
      let frame = ByteBuffer(capacity: 256)
      frame.appendFrame(fields, serial: serial, name: name)
      try send(frame)
    }

    func send(_ bytes: ByteBuffer) throws {
      let socket = socket.descriptor.rawValue
      let array = bytes.array
      let sent = unsafe Glibc.send(socket, array, array.count, CInt(MSG_NOSIGNAL))
      try #require(sent == array.count)
    }

    /// The bus notices when it sends.
    func stopReading() throws {
      let socket = socket.descriptor.rawValue
      try #require(shutdown(socket, CInt(SHUT_RD)) == 0)
    }

    func frames(isGreeting: Bool = false) throws -> [(kind: FrameKind?, serial: Serial)] {
      try received(isGreeting: isGreeting).map { ($0.header.kind, $0.header.serial) }
    }

    func frames<F: FrameFields>(of kind: FrameKind, _ type: F.Type) throws -> [F] {
      let buffer = socket.received
      var fields: [F] = []
      for (header, start) in try received() where header.kind == kind {
        let frame = FrameView(header, buffer.bytes(in: start..<start + header.frameLength))
        fields.append(try frame.decode(type))
      }
      return fields
    }

    /// The number of a Varlink client's replies.
    func replyCount() throws -> Int { try receive().array.count { $0 == 0 } }

    private func receive() throws -> ByteBuffer {
      let buffer = socket.received
      buffer.truncate(to: 0)
      do throws(Errno) {
        while case .bytes = try UnixSocket.receive(from: socket.descriptor, into: buffer) {}
      } catch {
        // The bus closed the socket with unread bytes.
        try #require(error.isDisconnection)
      }
      return buffer
    }

    /// Positions in the buffer hold until the next call.
    private func received(isGreeting: Bool = false) throws -> [(header: FrameHeader, start: Int)] {
      let buffer = try receive()
      if isGreeting { try #require(try Hello(buffer.bytes) != nil) }
      var frames: [(header: FrameHeader, start: Int)] = []
      var position = isGreeting ? Hello.length : 0
      while let header = try FrameHeader(buffer.bytes, at: position, limits: .fromBus) {
        frames.append((header, position))
        position += header.frameLength
      }
      return frames
    }
  }

  func client() throws -> Client {
    let client = try stranger()
    try read(client)
    endIteration()
    // The hello is not a frame, so `frames` cannot read it.
    let greeting = ByteBuffer(capacity: 4096)
    _ = try UnixSocket.receive(from: client.socket.descriptor, into: greeting)
    return client
  }

  /// A Varlink client.
  func caller() throws -> Client {
    let index = server.acceptor.listeners.count
    let path = "\(folder.path)/varlink\(index)"
    try server.acceptor.listen(on: try Listener(path: path, mode: 0o600, isVarlink: true))
    let socket = try Client.Socket(connectedTo: path)
    beginIteration()
    server.handleEvent(.listener(index), .readable)
    endIteration()
    return Client(id: server.sessions.lastID, socket: socket)
  }

  /// Its hello is unread. Begins an iteration.
  func stranger() throws -> Client {
    let socket = try Client.Socket(connectedTo: "\(folder.path)/bus")
    server.beginIteration()
    server.handleEvent(.listener(0), .readable)
    let client = Client(id: server.sessions.lastID, socket: socket)
    let hello = ByteBuffer(capacity: 64)
    Hello().append(to: hello)
    try client.send(hello)
    return client
  }

  // MARK: Steps

  func beginIteration() { server.beginIteration() }

  func read(_ client: Client) throws { server.handleEvent(try session(of: client).token, .readable) }

  func session(of client: Client) throws -> Session { try #require(server.sessions[client.id]) }

  func endIteration() { _ = server.endIteration() }

  func flush(_ session: Session) throws {
    beginIteration()
    server.handleEvent(session.token, .writable)
    endIteration()
  }

  func readyTokens() throws -> [WatchToken] {
    let probe = Probe()
    _ = try loop.iterate(for: probe)
    return probe.tokens
  }

  private final class Probe: EventLoopTarget {
    var tokens: [WatchToken] = []
    let hasWork = true
    let wantsIdle = false

    func beginIteration() {}
    func handleEvent(_ token: WatchToken, _ readiness: Readiness) { tokens.append(token) }
    func becameIdle() {}
    func endIteration() -> Bool { true }
  }

  func pass(_ clients: Client...) throws {
    beginIteration()
    for client in clients { try read(client) }
    endIteration()
  }
}
