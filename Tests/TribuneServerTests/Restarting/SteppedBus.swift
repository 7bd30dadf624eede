// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A bus whose loop iterations the test makes. Between any two steps the test can look at the log, or have the bus die.
@MainActor
final class SteppedBus {
  let server: BusServer
  let keeper: KeeperLink
  private let loop: EventLoop
  private let folder: TemporaryFolder

  private static let slotCount = 64
  private static let segmentCapacity = 4 << 20

  /// Makes one that has nothing yet. It logs all that its keeper needs.
  ///
  /// - Parameter keeperPath: where its keeper listens. Without one, nobody listens there.
  init(_ configuration: Configuration = Configuration(), keptAt keeperPath: String? = nil) throws {
    folder = try TemporaryFolder()
    let state = try WriteAheadLog(slotCount: Self.slotCount, segmentCapacity: Self.segmentCapacity)
    loop = try EventLoop(hostsMainQueue: false)
    keeper = KeeperLink(
      path: keeperPath ?? "\(folder.path)/keeper", manager: nil, loop: loop, log: Self.log)
    server = try BusServer(
      configuration: configuration, log: Self.log, loop: loop, wal: state, keeper: keeper)
    try server.acceptor.listen(on: try Listener(path: "\(folder.path)/bus", mode: 0o600))
  }

  private init(succeeding other: SteppedBus, _ configuration: Configuration?, _ passed: PassedAtStart) throws
  {
    folder = other.folder
    guard let file = passed.takeLog() else { preconditionFailure("the log was passed") }
    loop = try EventLoop(hostsMainQueue: false)
    keeper = KeeperLink(path: "\(folder.path)/keeper", manager: nil, loop: loop, log: Self.log)
    server = try BusServer(
      configuration: configuration ?? other.server.context.configuration, log: Self.log, loop: loop,
      wal: try WriteAheadLog(adopting: file), keeper: keeper)
    server.takeOver(passed)
  }

  private static let log = Log(level: .error, destination: .standardError)

  /// What a keeper would give the next daemon.
  private func left(withConnections: Bool) throws -> PassedAtStart {
    var items = [KeptItem.log(0)]
    var copies = PassedDescriptors()
    copies.append(owning: try FileDescriptor.duplicate(of: server.wal.rawDescriptor).release())
    for session in server.sessions.all where withConnections && session.isKept {
      items.append(.connection(session.cookie))
      copies.append(owning: try session.descriptor.duplicate().release())
    }
    let passed = PassedAtStart()
    passed.take(items, copies)
    return passed
  }

  /// The bus that there is if this one, which is not to be used any more, dies now.
  ///
  /// - Parameters:
  ///   - configuration: its own, if it has another one.
  ///   - isKept: whether the keeper has connections. Otherwise it has just the log.
  func successor(_ configuration: Configuration? = nil, isKept: Bool = true) throws -> SteppedBus {
    try SteppedBus(succeeding: self, configuration, left(withConnections: isKept))
  }

  // MARK: Clients

  /// A client's end of a connection.
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

    fileprivate init(id: ConnectionID, socket: Socket) { (self.id, self.socket) = (id, socket) }

    /// Connects to a bus of another process, and says hello.
    init(connectingTo path: String) throws {
      self.init(id: ConnectionID(rawValue: 0), socket: try Socket(connectedTo: path))
      try sayHello()
    }

    fileprivate func sayHello() throws {
      let hello = ByteBuffer(capacity: 64)
      Hello().append(to: hello)
      try send(hello)
    }

    /// Who listens there.
    var peer: PeerCredentials { get throws { try UnixSocket.peer(of: socket.descriptor) } }

    /// Whether the bus says something within that time.
    func isAddressed(within limit: Duration = .zero) throws -> Bool {
      try Poll.wait(for: socket.descriptor, forWriting: false, timeout: limit)
    }

    /// Sends a frame, which the bus reads when it is made to.
    func send<F: FrameFields>(_ fields: F, serial: Serial, flags: FrameFlags = [], name: String = "") throws {
      let frame = ByteBuffer(capacity: 256)
      frame.appendFrame(fields, flags: flags, serial: serial, name: name)
      try send(frame)
    }

    func send(_ bytes: ByteBuffer) throws {
      let socket = socket.descriptor.rawValue
      let array = bytes.array
      let sent = unsafe Glibc.send(socket, array, array.count, CInt(MSG_NOSIGNAL))
      try #require(sent == array.count)
    }

    /// Reads no more, as the bus learns when it sends something.
    func stopReading() throws {
      let socket = socket.descriptor.rawValue
      try #require(shutdown(socket, CInt(SHUT_RD)) == 0)
    }

    /// What has come since this was last asked: kinds and serials.
    ///
    /// - Parameter isGreeting: it begins with the bus's hello.
    func frames(isGreeting: Bool = false) throws -> [(kind: FrameKind?, serial: Serial)] {
      let buffer = socket.received
      while case .bytes = try UnixSocket.receive(from: socket.descriptor, into: buffer) {}
      if isGreeting { try #require(try Hello(buffer.bytes) != nil) }
      var frames: [(kind: FrameKind?, serial: Serial)] = []
      var position = isGreeting ? Hello.length : 0
      while let header = try FrameHeader(buffer.bytes, at: position, limits: .fromBus) {
        frames.append((header.kind, header.serial))
        position += header.frameLength
      }
      buffer.truncate(to: 0)
      return frames
    }
  }

  /// Somebody who has said hello, and has been welcomed.
  func client() throws -> Client {
    let client = try stranger()
    try read(client)
    endIteration()
    // The hello is no frame.
    let greeting = ByteBuffer(capacity: 4096)
    _ = try UnixSocket.receive(from: client.socket.descriptor, into: greeting)
    return client
  }

  /// Somebody who has been accepted, and whose hello the bus has still to read. Begins an iteration.
  func stranger() throws -> Client {
    let socket = try Client.Socket(connectedTo: "\(folder.path)/bus")
    server.beginIteration()
    server.isReady(.listener(0), .readable)
    let client = Client(id: server.sessions.lastID, socket: socket)
    try client.sayHello()
    return client
  }

  // MARK: Steps

  func beginIteration() { server.beginIteration() }

  /// Has the bus read what a client has sent.
  func read(_ client: Client) throws { server.isReady(try session(of: client).token, .readable) }

  /// The bus's end of it.
  func session(of client: Client) throws -> Session {
    try #require(server.sessions[client.id])
  }

  func endIteration() { _ = server.endIteration() }

  /// Makes an iteration in which the kernel says that a connection can be written to.
  func flush(_ session: Session) throws {
    beginIteration()
    server.isReady(session.token, .writable)
    endIteration()
  }

  /// Which connections the event loop would wake up for now.
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
    func isReady(_ token: WatchToken, _ readiness: Readiness) { tokens.append(token) }
    func isIdle() {}
    func endIteration() -> Bool { true }
  }

  /// Makes an iteration in which the bus reads what these have sent.
  func pass(_ clients: Client...) throws {
    beginIteration()
    for client in clients { try read(client) }
    endIteration()
  }

  /// Begins an iteration in which something is due that is so soon.
  func beginIterationWhenDue() {
    repeat { beginIteration() } while !server.interpreter.isAnythingDue
  }
}
