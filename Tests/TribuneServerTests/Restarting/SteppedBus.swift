// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A bus whose passes the test makes: between any two steps it can look at the state, or have the bus die.
@MainActor
final class SteppedBus {
  let server: BusServer
  private let loop: EventLoop
  private let folder: TemporaryFolder
  /// Keeps what the bus has, as far as that knows.
  private let manager: NotifySocket

  private static let slotCount = 64
  private static let segmentCapacity = 4 << 20

  /// Makes one that has nothing yet. For a process of its own: it changes the environment.
  init(_ configuration: Configuration = Configuration()) throws {
    folder = try TemporaryFolder()
    manager = try NotifySocket()
    unsafe setenv("FDSTORE", "1000", 1)
    let state = try WriteAheadLog(slotCount: Self.slotCount, segmentCapacity: Self.segmentCapacity)
    loop = try EventLoop(hostsMainQueue: false)
    server = try Self.server(configuration, state, PassedAtStart(), loop)
    try server.gatekeeper.acceptor.listen(on: try Listener(path: "\(folder.path)/bus", mode: 0o600))
  }

  private init(succeeding other: SteppedBus, _ configuration: Configuration?, asksWhoConnected: Bool) throws {
    folder = other.folder
    manager = other.manager
    var passed = [
      (try FileDescriptor.duplicate(of: other.server.recorder.wal.rawDescriptor).release(), "state")
    ]
    for session in other.server.sessions.all where session.isStored {
      passed.append((try session.descriptor.duplicate().release(), "c"))
    }
    let atStart = try PassedAtStart(passed, isStoreKept: true)
    atStart.knowsPeers = asksWhoConnected
    guard let file = atStart.takeState() else { preconditionFailure("the state was passed") }
    loop = try EventLoop(hostsMainQueue: false)
    server = try Self.server(
      configuration ?? other.server.context.configuration, try WriteAheadLog(adopting: file), atStart, loop)
    server.takeOver(atStart)
  }

  private static func server(
    _ configuration: Configuration, _ state: WriteAheadLog, _ passed: PassedAtStart, _ loop: EventLoop
  ) throws -> BusServer {
    let log = Log(destination: .standardError)
    let store = DescriptorStore(log: log, holding: passed)
    let server = try BusServer(
      configuration: configuration, log: log, loop: loop, wal: state,
      store: store)
    try #require(server.recorder.survivesDeath)
    return server
  }

  /// The bus that there is if this one, which is not to be used any more, dies now.
  ///
  /// - Parameters:
  ///   - configuration: its own, if it has another one.
  ///   - asksWhoConnected: it asks the kernel for that, as it does where another bus passed it all.
  func successor(_ configuration: Configuration? = nil, asksWhoConnected: Bool = false) throws -> SteppedBus {
    try SteppedBus(succeeding: self, configuration, asksWhoConnected: asksWhoConnected)
  }

  // MARK: Clients

  /// A client's end of a connection.
  struct Client {
    let id: ConnectionID
    fileprivate let socket: Socket

    fileprivate final class Socket {
      let descriptor: FileDescriptor
      let received = ByteBuffer(capacity: 1 << 20)

      init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
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
    let socket = Client.Socket(try UnixSocket.make(nonblocking: true))
    try UnixSocket.connect(socket.descriptor, to: "\(folder.path)/bus")
    server.beginIteration()
    server.isReady(.listener(0), .readable)
    let client = Client(id: server.sessions.lastID, socket: socket)
    let hello = ByteBuffer(capacity: 64)
    Hello().append(to: hello)
    try client.send(hello)
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
