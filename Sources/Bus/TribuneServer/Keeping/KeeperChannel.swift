// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// One end of the connection between a bus and its keeper. Non-blocking, except `wait`.
package final class KeeperChannel {
  package enum Failure: Error, Equatable, CustomStringConvertible {
    case ended
    case malformed(String)
    case untrusted(uid: UInt32)
    case failed(Errno)
    case refused(String)

    package var description: String {
      switch self {
      case .ended: "the connection was closed"
      case .malformed(let what): "protocol error: \(what)"
      case .untrusted(let uid): "it runs as user \(uid)"
      case .failed(let error): "\(error)"
      case .refused(let reason): reason
      }
    }
  }

  package enum Reception: ~Copyable {
    case nothing
    case message(KeeperMessage, PassedDescriptors)
  }

  private let socket: FileDescriptor
  private let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)

  package var rawValue: CInt { socket.rawValue }

  /// - Parameter socket: a connected socket of type SOCK_SEQPACKET. Its peer must run as this process's user.
  ///   Root is accepted, too: if systemd made the listening socket, the kernel reports root as the peer.
  package init(_ socket: consuming FileDescriptor) throws(Failure) {
    self.socket = socket
    let uid: UInt32
    do throws(Errno) {
      try self.socket.setNonblocking()
      uid = try UnixSocket.peer(of: self.socket).uid
    } catch {
      throw .failed(error)
    }
    guard uid == 0 || uid == ThisProcess.effectiveUser else { throw .untrusted(uid: uid) }
  }

  /// Shuts the socket down, because a child process that is just starting can still have a copy of it.
  deinit { UnixSocket.shutdown(socket) }

  package static func connect(to path: String) throws(Failure) -> KeeperChannel {
    try KeeperChannel(try socket(connectedTo: path))
  }

  private static func socket(connectedTo path: String) throws(Failure) -> FileDescriptor {
    do throws(Errno) {
      let socket = try UnixSocket.makeForPackets()
      try UnixSocket.connect(socket, to: path)
      return socket
    } catch {
      throw .failed(error)
    }
  }

  package func send(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws(Failure) -> Bool {
    let buffer = buffer
    buffer.truncate(to: 0)
    message.append(to: buffer)
    do throws(Errno) {
      return try UnixSocket.send(buffer.bytes, passing: descriptors, to: socket) > 0
    } catch {
      if error.isDisconnection { throw .ended }
      // These errors are temporary: the other end will receive the descriptors, or resources become free.
      guard error == .tooManyPassed || error.isOutOfResources else { throw .failed(error) }
      return false
    }
  }

  /// Does not block. If this process reaches its limit on descriptors, the kernel passes only the first
  /// descriptors of the message. The message is valid nevertheless.
  package func receive() throws(Failure) -> Reception {
    let buffer = buffer
    buffer.truncate(to: 0)
    var passed = PassedDescriptors()
    let received: Received
    do throws(Errno) {
      received = try receive(into: buffer, &passed)
    } catch {
      throw error.isDisconnection ? .ended : .failed(error)
    }
    switch received {
    case .nothing: return .nothing
    case .end: throw .ended
    case .descriptors: preconditionFailure("more descriptors came than one packet can have")
    case .bytes: break
    }
    var whole = PassedDescriptors()
    for descriptor in passed.releaseAll() { whole.append(owning: descriptor) }
    do throws(WireError) {
      return .message(try KeeperMessage(buffer.bytes, descriptorCount: whole.count), whole)
    } catch {
      throw .malformed(error.message)
    }
  }

  /// If the other end closes while it has unread messages, the kernel reports a reset first, and then the
  /// last messages from that end. These can pass connections of a killed bus, so a second call reads them.
  private func receive(into buffer: ByteBuffer, _ passed: inout PassedDescriptors) throws(Errno) -> Received {
    do throws(Errno) {
      return try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
    } catch {
      guard error == .connectionReset else { throw error }
      return try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
    }
  }

  package func wait(atMost limit: Duration) throws(Failure) -> Bool {
    do throws(Errno) {
      return try Poll.wait(for: socket, forWriting: false, timeout: limit)
    } catch {
      throw .failed(error)
    }
  }
}
