// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneLog
import TribuneSystem
import TribuneWire

/// The place of a bus that runs, for a daemon that was started with `--replace` (see `HandOverMessage`).
///
/// The bus goes on until it has said `yours`, whatever happens here: one of the two has the place at any time, and
/// both know which.
///
/// Whoever has a path can listen there. So nothing is taken from a bus of a user who could not end this one anyway, the
/// kernel is asked who connected, and what was written into the state afterwards does not get into it.
final class Replacement {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// How long the bus has to hand everything over, and to let go when it is told that it can.
  private static let handOverLimit = Duration.seconds(20)
  private static let lettingGoLimit = Duration.seconds(10)
  /// Of frames, and how many of them may come before the exchange.
  private static let frameLimits = FrameLimits(fields: 65_536, payload: 65_536)
  private static let framesMax = 16

  let passed: PassedAtStart
  let wal: WriteAheadLog
  private let listeners: [(path: String, file: SocketFile?)]
  /// Their sockets.
  private var listening: PassedDescriptors
  private let channel: HandOverChannel
  private let path: String
  /// The bus's, as it says.
  let pid: UInt32

  /// Asks the bus that listens at `path` for its place, and takes in what it passes. It waits then.
  ///
  /// - Returns: nil if nobody listens there.
  static func begin(at path: String) throws(Failure) -> Replacement? {
    do throws(HandOverChannel.Failure) {
      guard let socket = try connect(to: path) else { return nil }
      try requireTrust(in: socket)
      let channel = HandOverChannel(socket, within: handOverLimit)
      return try receive(pid: try ask(channel), from: channel, at: path)
    } catch {
      throw Failure(description: "cannot take the place of the bus at \(path): \(error)")
    }
  }

  private static func connect(to path: String) throws(HandOverChannel.Failure) -> FileDescriptor? {
    do throws(Errno) {
      let socket = try UnixSocket.make(nonblocking: true)
      try UnixSocket.connect(socket, to: path)
      return socket
    } catch {
      guard error == .connectionRefused || error == .noSuchFile else { throw .failed(error) }
      return nil
    }
  }

  /// Throws unless the bus is run by this process's user, or by root.
  private static func requireTrust(in socket: borrowing FileDescriptor) throws(HandOverChannel.Failure) {
    let user: UInt32
    do throws(Errno) {
      user = try UnixSocket.peer(of: socket).uid
    } catch {
      throw .failed(error)
    }
    guard user == 0 || user == geteuid() else {
      throw .refused(
        "user \(user) runs it, and only user \(geteuid()), who runs this one, and root are trusted")
    }
  }

  // MARK: Asking

  /// Says hello like a client, and asks.
  ///
  /// - Returns: the bus's process, when it has said `ok`.
  private static func ask(_ channel: HandOverChannel) throws(HandOverChannel.Failure) -> UInt32 {
    let request = ByteBuffer(capacity: 64)
    Hello().append(to: request)
    request.appendFrame(Replace(version: WriteAheadLog.version), flags: .critical, serial: 1)
    try channel.send(request)
    let hello = try channel.receive(count: Hello.length)
    _ = try HandOverChannel.reading { () throws(WireError) in try Hello(hello.bytes)?.negotiated() }
    var pid: UInt32 = 0
    for _ in 0..<framesMax {
      let frame = try nextFrame(on: channel)
      switch try HandOverChannel.reading({ () throws(WireError) in try answer(in: frame) }) {
      case .welcome(let from): pid = from
      case .ok: return pid
      case .refusal(let reason): throw .refused(reason)
      case .other: break
      }
    }
    throw .malformed("neither an ok nor an error")
  }

  /// What the bus says to somebody who asks for its place.
  private enum Answer {
    case welcome(pid: UInt32)
    case ok
    case refusal(String)
    case other
  }

  private static func answer(in bytes: ByteBuffer) throws(WireError) -> Answer {
    guard let header = try FrameHeader(bytes.bytes, at: 0, limits: frameLimits) else { return .other }
    let frame = FrameView(header, bytes.bytes)
    switch header.kind {
    case .welcome: return .welcome(pid: try frame.decode(Welcome.self).busPID)
    case .ok: return .ok
    case .error:
      if try frame.decode(Refusal.self).code == .unknownCriticalKind {
        return .refusal("it is of an older version, which cannot be replaced")
      }
      return .refusal(String(repairing: frame.payload))
    default: return .other
    }
  }

  private static func nextFrame(on channel: HandOverChannel) throws(HandOverChannel.Failure) -> ByteBuffer {
    let frame = try channel.receive(count: FrameHeader.length)
    let length = try HandOverChannel.reading { () throws(WireError) in
      try FrameHeader(frame.bytes, at: 0, limits: frameLimits)?.frameLength ?? FrameHeader.length
    }
    let rest = try channel.receive(count: length - FrameHeader.length)
    frame.append(rest.bytes)
    return frame
  }

  // MARK: Receiving

  private static func receive(
    pid: UInt32, from channel: HandOverChannel, at path: String
  ) throws(HandOverChannel.Failure) -> Replacement {
    do throws(HandOverChannel.Failure) {
      var received = Received()
      while try !received.take(from: channel) {}
      let (passed, state) = try received.checked()
      return Replacement(
        of: path, pid: pid, channel, passed, state, listeners: received.listeners,
        listening: received.takeListening())
    } catch {
      channel.refuse("\(error)")
      throw error
    }
  }

  private init(
    of path: String, pid: UInt32, _ channel: HandOverChannel, _ passed: PassedAtStart, _ wal: WriteAheadLog,
    listeners: [(path: String, file: SocketFile?)], listening: consuming PassedDescriptors
  ) {
    self.path = path
    self.pid = pid
    self.channel = channel
    self.passed = passed
    self.wal = wal
    self.listeners = listeners
    self.listening = listening
  }

  /// What has come so far.
  private struct Received: ~Copyable {
    private var listening = PassedDescriptors()
    private(set) var listeners: [(path: String, file: SocketFile?)] = []
    private var others = PassedDescriptors()
    private var names: [StoredName] = []

    /// Takes the next message in.
    ///
    /// - Returns: whether it was the last.
    mutating func take(from channel: HandOverChannel) throws(HandOverChannel.Failure) -> Bool {
      var passed = PassedDescriptors()
      switch try channel.receive(&passed) {
      case .batch(let batch):
        for (one, descriptor) in zip(batch, passed.releaseAll()) { take(one, descriptor) }
        return false
      case .end(let count):
        guard count == names.count + listeners.count else {
          throw .malformed("\(names.count + listeners.count) descriptors came of \(count)")
        }
        return true
      case .ready, .yours, .refusal: throw .malformed("what is not to be said now")
      }
    }

    private mutating func take(_ one: HandedOver, _ descriptor: CInt) {
      if case .listener(let path, let file) = one {
        listening.append(owning: descriptor)
        listeners.append((path, file))
        return
      }
      others.append(owning: descriptor)
      switch one {
      case .state: names.append(.state)
      case .connection: names.append(.connection)
      // Any number that no other has.
      case .file, .listener: names.append(.file(UInt64(names.count)))
      }
    }

    /// All of it, as if the service manager had passed it, if it is what it is said to be.
    mutating func checked() throws(HandOverChannel.Failure) -> (PassedAtStart, WriteAheadLog) {
      let areListening = listening.rawValues.allSatisfy {
        FileDescriptor.lending($0) { UnixSocket.role(of: $0) == .listening }
      }
      guard areListening, !listeners.isEmpty else { throw .malformed("no sockets to listen on") }
      let passed: PassedAtStart
      do throws(PassedAtStart.PassedError) {
        let others = zip(others.releaseAll(), names).map { ($0, $1.description) }
        passed = try PassedAtStart(others, isStoreKept: true)
        passed.knowsPeers = true
      } catch {
        throw .malformed("\(error)")
      }
      if let foreign = passed.foreign.first { throw .malformed("\(foreign.name) is \(foreign.flaw)") }
      return (passed, try Self.state(of: passed))
    }

    private static func state(of passed: PassedAtStart) throws(HandOverChannel.Failure) -> WriteAheadLog {
      guard let descriptor = passed.takeState() else { throw .malformed("no state") }
      let own: FileDescriptor
      do throws(SharedFile.Flaw) {
        own = try copy(try SharedFile(checking: descriptor))
      } catch {
        throw .refused("the state cannot be copied: \(error)")
      }
      do throws(LogError) {
        return try WriteAheadLog(adopting: own)
      } catch {
        throw .refused("the state cannot be taken over: \(error)")
      }
    }

    private static func copy(_ file: consuming SharedFile) throws(SharedFile.Flaw) -> FileDescriptor {
      do throws(Errno) {
        return try file.copy().release()
      } catch {
        throw .failed(error)
      }
    }

    mutating func takeListening() -> PassedDescriptors {
      var taken = PassedDescriptors()
      swap(&taken, &listening)
      return taken
    }
  }

  // MARK: Taking

  /// Nothing comes of it after all: the bus goes on.
  func refuse(_ reason: String) { channel.refuse(reason) }

  /// Has the bus let go of its place.
  ///
  /// - Throws: when it goes on instead.
  func take() throws(Failure) {
    channel.extend(by: Self.lettingGoLimit)
    var failure: HandOverChannel.Failure
    do throws(HandOverChannel.Failure) {
      try channel.send(.ready)
      if try channel.receive() == .yours { return }
      failure = .malformed("what is not to be said now")
    } catch {
      failure = error
    }
    // The bus cannot say it any more from here on. It may have said it just before.
    channel.hangUp()
    channel.extend(by: Self.lettingGoLimit)
    if Self.hearsYours(on: channel) { return }
    throw Failure(description: "cannot take the place of the bus at \(path): \(failure)")
  }

  private static func hearsYours(on channel: HandOverChannel) -> Bool {
    do throws(HandOverChannel.Failure) {
      return try channel.receive() == .yours
    } catch {
      return false
    }
  }

  /// The sockets to listen on, once the place is taken.
  func takeListeners() throws(Errno) -> [Listener] {
    let ours = SocketFile(at: path)
    var taken: [Listener] = []
    for (path, file) in listeners {
      guard case .descriptor(let descriptor)? = listening.popFirst() else {
        preconditionFailure("the sockets are taken once")
      }
      // The bus may have found it under another path, from another folder.
      let isAtPath = file != nil && file == ours
      taken.append(try Listener(takenOver: descriptor, path: isAtPath ? self.path : path, file: file))
    }
    return taken
  }
}
