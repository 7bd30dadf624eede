// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// The work of a link's thread, which connects, reads until the link ends, and writes the frames that callers
/// did not write. The receive buffer grows with the bytes that arrive, not with the length that a frame
/// announces.
struct LinkThread: ~Copyable {
  private static let bufferCapacity = 65_536
  /// If fewer bytes than this are free, and the partial frame does not fit into the buffer, the frame's bytes
  /// move to another buffer.
  private static let receiveMin = 4_096
  /// The number of attempts to get a welcome. If a bus closes the connection before the welcome, it was
  /// possibly killed, and its successor can already listen. The pause between two attempts doubles each time.
  private static let attemptsMax = 5
  private static let attemptPause = Duration.milliseconds(10)
  private static let greetingLimits = FrameLimits(fields: 65_536, payload: 65_536)
  private static let descriptorsWaitingMax = 16
  /// The kernel does not report when the bus has taken passed files, so the thread retries at this interval.
  private static let passRetryInterval = Duration.milliseconds(10)

  enum Greeting: Equatable {
    case hello
    case welcome(acceptsFiles: Bool)
    case done
  }

  let link: Link
  let address: Address
  private var buffer = ByteBuffer(capacity: bufferCapacity)
  private var consumed = 0
  private var descriptors = PassedDescriptors()
  /// The length of the partial frame; 0 while unknown.
  private var awaited = 0
  private(set) var greeting = Greeting.hello
  private let greetingDeadline: ContinuousClock.Instant
  private var attemptCount = 1
  private(set) var receiver: FrameReceiver
  var reconnection: Reconnection?
  var lastReconnection: (moment: ContinuousClock.Instant, pause: Duration)?

  private init(_ link: Link, _ address: Address, greetingDeadline: ContinuousClock.Instant) {
    self.link = link
    self.address = address
    self.greetingDeadline = greetingDeadline
    receiver = FrameReceiver(link)
  }

  static func run(_ link: Link, _ address: Address, greetingDeadline: ContinuousClock.Instant) {
    let thread = LinkThread(link, address, greetingDeadline: greetingDeadline)
    do throws(TribuneError) { try thread.connect() } catch { return link.end(error) }
    LinkScheduler(link, thread).takeTurns()
  }

  private func connect() throws(TribuneError) {
    while !link.state.withLock({ $0.hasEnded }) {
      do throws(Errno) {
        try UnixSocket.connect(link.socket, to: address.path)
      } catch  where error == .again && ContinuousClock.now < greetingDeadline {
        // The listening socket's backlog is full, and the kernel does not report when the backlog has space.
        try pause()
        continue
      } catch  where error == .again {
        throw TribuneError(.unreachable, "the bus at \(address) accepts no connections")
      } catch {
        throw TribuneError(connecting: error, to: address)
      }
      try address.requireServer(of: link.socket)
      // A new socket's buffer has space for the batch. If the write fails, the next read reports the error.
      let batch = OutgoingBatch(PassedCount())
      batch.appendHello(of: link)
      _ = batch.write(to: link.socket)
      return
    }
  }

  private mutating func connectAgain() throws(TribuneError) {
    try pause(Self.attemptPause * (1 << (attemptCount - 1)))
    attemptCount += 1
    do throws(Errno) {
      try link.socket.replace(by: try UnixSocket.make(nonblocking: true))
    } catch {
      throw TribuneError(.limitExceeded, "cannot make a connection: \(error)")
    }
    startOver()
    try connect()
  }

  /// If `isWaiting`, waits for an event. Receives the arrived frames. Returns false at the end of the link.
  mutating func receive(isWaiting: Bool) -> Bool {
    do throws(TribuneError) {
      return try serve(isWaiting: isWaiting)
    } catch {
      link.end(error)
      return false
    }
  }

  private mutating func serve(isWaiting: Bool) throws(TribuneError) -> Bool {
    let (step, room, capacityDeadline, isStuck, isOutOfResources) = link.state.withLock {
      (
        $0.nextStep(at: .now), $0.receive(upTo: receiver.received), $0.outbox.nextCapacityDeadline,
        $0.outbox.isStuck, $0.outbox.isOutOfResources
      )
    }
    link.perform(room)
    var deadline = capacityDeadline
    switch step {
    case .receive: break
    case .greet:
      guard greetingDeadline > .now else {
        let missing = greeting == .hello ? "hello" : "welcome"
        throw TribuneError(.unreachable, "the listener at \(address) did not send a \(missing)")
      }
      deadline = greetingDeadline
    case .close(let limit, let endsWriting):
      if endsWriting { UnixSocket.endWriting(link.socket) }
      deadline = min(limit, capacityDeadline ?? limit)
    case .reconnect: return try reconnect(isWaiting: isWaiting)
    case .end:
      link.end(nil)
      return false
    }
    if let capacityDeadline, capacityDeadline <= .now {
      link.perform(link.state.withLock { $0.failOverdue(at: .now) })
      // The call above may have resumed tasks that this thread, as their executor, must run before it waits.
      return true
    }
    var timeout = isWaiting ? deadline.map { ContinuousClock.now.duration(to: $0) } : .zero
    if isOutOfResources { timeout = min(timeout ?? Self.passRetryInterval, Self.passRetryInterval) }
    let ready = try poll(forWriting: isStuck, timeout: timeout)
    if ready.isWoken { link.wakeup.clear() }
    if ready.isWoken || isStuck || isOutOfResources { write() }
    if ready.isReadable, try read() == .ended { return try endOfStream() }
    return true
  }

  func poll(forWriting: Bool, timeout: Duration?) throws(TribuneError) -> Poll.Ready {
    do throws(Errno) {
      return try Poll.wait(for: link.socket, forWriting: forWriting, wakeup: link.wakeup, timeout: timeout)
    } catch {
      throw failure(of: "waiting for the bus", error)
    }
  }

  /// Before the welcome, the code is `limitExceeded`. From `connectionLost`, callers would conclude that
  /// there is no bus.
  private func failure(of what: String, _ error: Errno) -> TribuneError {
    TribuneError(greeting == .done ? .connectionLost : .limitExceeded, "\(what) failed: \(error)")
  }

  func pause(_ span: Duration = .milliseconds(5)) throws(TribuneError) {
    do throws(Errno) {
      if try Poll.wait(for: link.wakeup, timeout: span) { link.wakeup.clear() }
    } catch {
      throw failure(of: "waiting for the bus", error)
    }
  }

  func write() {
    while let batch = link.state.withLock({ $0.outbox.nextForThread() }) {
      let (bytes, progress) = batch.write(to: link.socket)
      link.perform(link.state.withLock { $0.wrote(batch, bytes: bytes, progress).action })
      switch progress {
      case .whole: continue
      case .stuck, .outOfResources: return
      case .failed(let error): link.endReading(after: error)
      }
    }
  }

  // MARK: Reading

  enum Stream {
    case goesOn, ended
  }

  mutating func read() throws(TribuneError) -> Stream {
    makeSpace()
    let received: Received
    do throws(Errno) {
      received = try UnixSocket.receive(from: link.socket, into: buffer, &descriptors)
    } catch  where error == .again {
      return .goesOn
    } catch  where error.isDisconnection {
      return .ended
    } catch {
      throw failure(of: "reading from the bus", error)
    }
    switch received {
    case .nothing: return .goesOn
    case .end: return .ended
    case .descriptors: throw .violation("the bus sent more descriptors at once than frames can take")
    case .bytes: break
    }
    do throws(WireError) {
      try takeFrames()
      if !descriptors.isEmpty { try requireExpectedDescriptors() }
    } catch  where error.code == .unsupportedVersion {
      throw TribuneError(wire: error)
    } catch {
      throw .violation("the bus breaks the protocol: \(error.message)")
    }
    return .goesOn
  }

  private mutating func makeSpace() {
    let unfinished = buffer.count - consumed
    if unfinished == 0 {
      if buffer.capacity > Self.bufferCapacity {
        buffer = ByteBuffer(capacity: Self.bufferCapacity)
      } else {
        buffer.truncate(to: 0)
      }
      consumed = 0
      return
    }
    let fits = awaited > 0 && buffer.capacity - consumed >= awaited
    guard !fits, buffer.capacity - buffer.count < Self.receiveMin else { return }
    let larger = ByteBuffer(capacity: max(Self.bufferCapacity, unfinished * 2))
    larger.append(buffer.bytes(in: consumed..<buffer.count))
    buffer = larger
    consumed = 0
  }

  private func requireExpectedDescriptors() throws(WireError) {
    guard buffer.count > consumed, greeting == .done, descriptors.count <= Self.descriptorsWaitingMax else {
      throw WireError(.unexpectedDescriptors, "the bus sent descriptors without a frame that announces them")
    }
  }

  private mutating func takeFile(of frame: FrameView) throws(WireError) -> ReceivedFile? {
    guard frame.header.flags.contains(.descriptor) else { return nil }
    guard frame.header.kind == .post || frame.header.kind == .retained else {
      throw WireError(
        .unexpectedDescriptors, "a frame of kind \(frame.header.rawKind) cannot have a descriptor")
    }
    let length = Int(
      frame.header.kind == .post
        ? try frame.decode(Post.self).length : try frame.decode(Retained.self).length)
    switch descriptors.popFirst() {
    case nil:
      throw WireError(.missingDescriptor, "a frame came without the descriptor that it announces")
    case .lost?:
      return .lost
    case .foreign?:
      preconditionFailure("only a daemon receives stand-ins for descriptors")
    case .descriptor(let descriptor)?:
      guard length >= WireLimits.descriptorPayloadLength, length <= FrameLimits.fromBus.payload else {
        throw WireError(.invalidDescriptor, "userInfo of \(length) bytes came in a descriptor")
      }
      do throws(MemoryFile.Flaw) {
        return .file(try MemoryFile(checking: descriptor, length: length))
      } catch {
        throw WireError(.invalidDescriptor, "userInfo of \(length) bytes is not in a sealed file: \(error)")
      }
    }
  }

  private mutating func takeFrames() throws(WireError) {
    let buffer = self.buffer
    if greeting == .hello {
      guard let hello = try Hello(buffer.bytes(in: consumed..<buffer.count)) else { return }
      _ = try hello.negotiated()
      consumed += Hello.length
      greeting = .welcome(acceptsFiles: hello.capabilities.contains(.descriptors))
    }
    while true {
      let limits = greeting == .done ? FrameLimits.fromBus : Self.greetingLimits
      awaited = 0
      guard let header = try FrameHeader(buffer.bytes, at: consumed, limits: limits) else { return }
      awaited = header.frameLength
      guard buffer.count - consumed >= header.frameLength else { return }
      let end = consumed + header.frameLength
      let frame = FrameView(header, buffer.bytes(in: consumed..<end))
      if case .welcome(let acceptsFiles) = greeting {
        if try receiver.receiveFirst(frame, acceptsFiles: acceptsFiles) { greeting = .done }
      } else {
        let file = try takeFile(of: frame)
        try receiver.receive(frame, file)
      }
      consumed = end
    }
  }

  mutating func startOver() {
    buffer = ByteBuffer(capacity: Self.bufferCapacity)
    consumed = 0
    descriptors = PassedDescriptors()
    awaited = 0
    greeting = .hello
    receiver = FrameReceiver(link)
  }

  /// Returns true if the link continues, over another connection or by looking for the bus.
  private mutating func endOfStream() throws(TribuneError) -> Bool {
    switch link.state.withLock({ $0.endOfStream(received: receiver.received) }) {
    case .reconnect: UnixSocket.shutdown(link.socket)
    case .connectAgain where attemptCount < Self.attemptsMax: try connectAgain()
    case .connectAgain:
      throw TribuneError(.unreachable, "the listener at \(address) closed the connection at once")
    case .end(let error):
      link.end(error)
      return false
    }
    return true
  }
}
