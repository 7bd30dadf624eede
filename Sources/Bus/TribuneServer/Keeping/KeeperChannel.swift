// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// One end of the connection between a bus and its keeper. Nothing here waits.
package final class KeeperChannel {
  package enum Failure: Error, Equatable, CustomStringConvertible {
    /// The other end has hung up.
    case ended
    case malformed(String)
    /// The other end runs as a user who may not have the connections.
    case untrusted(uid: UInt32)
    case failed(Errno)
    /// The other end does not serve this one, for the reason given.
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

  /// - Parameter socket: a connected socket of type SOCK_SEQPACKET. Its peer must run as the user of this process, or
  ///   as root, as the service manager does.
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

  /// Shuts the socket, so that the other end sees the end at once, even while a process that is just being started has
  /// a copy of the socket.
  deinit { UnixSocket.shutdown(socket) }

  /// Connects to the keeper that listens at `path`.
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

  /// Sends a message, with copies of the descriptors.
  ///
  /// - Returns: false if the message cannot be sent now.
  package func send(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws(Failure) -> Bool {
    let buffer = buffer
    buffer.truncate(to: 0)
    message.append(to: buffer)
    do throws(Errno) {
      return try UnixSocket.send(buffer.bytes, passing: descriptors, to: socket) > 0
    } catch {
      if error.isDisconnection { throw .ended }
      // This passes: fewer descriptors are under way once the other end has taken some.
      guard error == .tooManyPassed || error.isOutOfResources else { throw .failed(error) }
      return false
    }
  }

  /// The next message, if one has come. It may have fewer descriptors than it announces, if this process has reached
  /// its limit on descriptors; these are the first ones then.
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
    // Leaves out the stand-ins for descriptors that were lost.
    var whole = PassedDescriptors()
    for descriptor in passed.releaseAll() { whole.append(owning: descriptor) }
    do throws(WireError) {
      return .message(try KeeperMessage(buffer.bytes, descriptorCount: whole.count), whole)
    } catch {
      throw .malformed(error.message)
    }
  }

  /// If the other end closes with unread messages, the kernel reports a reset first, and what that end had sent can
  /// still be received: a bus that was killed may have sent connections with its last messages.
  private func receive(into buffer: ByteBuffer, _ passed: inout PassedDescriptors) throws(Errno) -> Received {
    do throws(Errno) {
      return try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
    } catch {
      guard error == .connectionReset else { throw error }
      return try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
    }
  }

  /// Waits until there is something to receive.
  ///
  /// - Returns: false after `limit`.
  package func wait(atMost limit: Duration) throws(Failure) -> Bool {
    do throws(Errno) {
      return try Poll.wait(for: socket, forWriting: false, timeout: limit)
    } catch {
      throw .failed(error)
    }
  }
}
