// SPDX-License-Identifier: Apache-2.0

import Glibc
package import TribuneSystem
package import TribuneWire

/// One end of the connection over which a daemon takes another one's place.
///
/// Whoever is at the other end is waited for until a deadline, and no longer. What it sends is bounded, and checked
/// before it is used.
package final class HandOverChannel {
  package enum Failure: Error, Equatable, CustomStringConvertible {
    case timedOut
    /// The other end has hung up.
    case ended
    case malformed(String)
    /// It says why nothing comes of it.
    case refused(String)
    case failed(Errno)

    package var description: String {
      switch self {
      case .timedOut: "it has not answered in time"
      case .ended: "it has hung up"
      case .malformed(let what): "it says what makes no sense: \(what)"
      case .refused(let reason): reason.escaped
      case .failed(let error): "\(error)"
      }
    }
  }

  /// How long is waited before something is tried again for which the kernel had nothing left.
  private static let retryMicroseconds: useconds_t = 5_000

  private let socket: FileDescriptor
  private var deadline: ContinuousClock.Instant

  /// - Parameters:
  ///   - socket: does not block.
  ///   - limit: all that follows is done in this time, or fails.
  package init(_ socket: consuming FileDescriptor, within limit: Duration) {
    self.socket = socket
    deadline = .now + limit
  }

  /// What follows is done in that time.
  package func extend(by limit: Duration) { deadline = .now + limit }

  // MARK: Sending

  /// Sends a message. Copies of the descriptors go with it.
  package func send(_ message: HandOverMessage, passing descriptors: [CInt] = []) throws(Failure) {
    let buffer = ByteBuffer(capacity: 256)
    message.append(to: buffer)
    try send(buffer, passing: descriptors)
  }

  package func send(_ buffer: ByteBuffer, passing descriptors: [CInt] = []) throws(Failure) {
    var passing = descriptors
    var sent = 0
    try checkTime()
    while sent < buffer.count {
      let count = try sendOnce(buffer, from: sent, passing)
      if count > 0 { passing = [] }
      sent += count
    }
  }

  /// - Returns: how many bytes were taken; none if it is to be tried again.
  private func sendOnce(_ buffer: ByteBuffer, from start: Int, _ descriptors: [CInt]) throws(Failure) -> Int {
    do throws(Errno) {
      let count = try UnixSocket.send(
        buffer.bytes(in: start..<buffer.count), passing: descriptors, to: socket)
      if count > 0 { return count }
    } catch {
      if error.isDisconnection { throw .ended }
      // Too many descriptors on their way are fewer when the other end has taken some.
      guard error == .tooManyPassed || error.isOutOfResources else { throw .failed(error) }
      usleep(Self.retryMicroseconds)
    }
    try wait(forWriting: true)
    return 0
  }

  private func failureToSend(_ message: HandOverMessage) -> Failure? {
    do throws(Failure) {
      try send(message)
      return nil
    } catch {
      return error
    }
  }

  /// Says that nothing comes of it, if the other end still listens.
  package func refuse(_ reason: String) {
    // If that does not get through, the other end sees that this one hangs up.
    _ = failureToSend(.refusal(reason))
    hangUp()
  }

  /// From here on, nothing that the other end sends gets here. What it has sent before still can be received.
  package func hangUp() { UnixSocket.shutdown(socket) }

  // MARK: Receiving

  /// The next message.
  ///
  /// - Parameter passed: holds its descriptors then, and nothing before.
  /// - Throws: `refused` for a message that says so.
  package func receive(_ passed: inout PassedDescriptors) throws(Failure) -> HandOverMessage {
    let headBytes = try receive(count: HandOverMessage.headLength, &passed)
    let head = try Self.reading { () throws(WireError) in try HandOverMessage.Head(headBytes.bytes) }
    guard passed.count == head.descriptorCount else {
      throw .malformed("\(passed.count) descriptors come with a message that has \(head.descriptorCount)")
    }
    let body = try receive(count: head.bodyLength)
    let message = try Self.reading { () throws(WireError) in try HandOverMessage(head, body: body.bytes) }
    if case .refusal(let reason) = message { throw .refused(reason) }
    return message
  }

  /// What `body` makes of what the other end has sent.
  static func reading<R>(_ body: () throws(WireError) -> R) throws(Failure) -> R {
    do throws(WireError) {
      return try body()
    } catch {
      throw .malformed(error.message)
    }
  }

  /// Waits for the next message, which comes without descriptors.
  package func receive() throws(Failure) -> HandOverMessage {
    var passed = PassedDescriptors()
    let message = try receive(&passed)
    guard passed.isEmpty else { throw .malformed("descriptors that nothing takes") }
    return message
  }

  /// So many bytes, with which no descriptors come.
  package func receive(count: Int) throws(Failure) -> ByteBuffer {
    var passed = PassedDescriptors()
    let buffer = try receive(count: count, &passed)
    guard passed.isEmpty else { throw .malformed("descriptors that nothing takes") }
    return buffer
  }

  private func receive(count: Int, _ passed: inout PassedDescriptors) throws(Failure) -> ByteBuffer {
    // No more than that is read: what is behind it belongs to the next one, and so do descriptors.
    let buffer = ByteBuffer(capacity: count)
    try checkTime()
    while buffer.count < count {
      let received: Received
      do throws(Errno) {
        received = try UnixSocket.receiveMany(from: socket, into: buffer, &passed)
      } catch {
        throw error.isDisconnection ? .ended : .failed(error)
      }
      switch received {
      case .bytes: break
      case .nothing: try wait(forWriting: false)
      case .end: throw .ended
      case .descriptors: preconditionFailure("there is room for as many descriptors as can come")
      }
    }
    guard !passed.hasLost else { throw .failed(Errno(rawValue: EMFILE)) }
    return buffer
  }

  /// Who sends, or takes, without end has no more time than who does nothing.
  private func checkTime() throws(Failure) {
    guard ContinuousClock.now < deadline else { throw .timedOut }
  }

  private func wait(forWriting: Bool) throws(Failure) {
    try checkTime()
    let left = ContinuousClock.now.duration(to: deadline)
    do throws(Errno) {
      _ = try Poll.wait(for: socket, forWriting: forWriting, timeout: left)
    } catch {
      throw .failed(error)
    }
  }
}
