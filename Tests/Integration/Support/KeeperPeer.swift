// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneServer
import TribuneSystem
import TribuneWire

/// One end of the connection between a bus and a keeper, played by a test.
final class KeeperPeer {
  struct Ended: Error {}

  /// A message with its descriptors, which the receiver has to close.
  struct Reception {
    let message: KeeperMessage
    let descriptors: [CInt]
  }

  private let socket: FileDescriptor

  /// Plays the bus to the keeper that listens at `path`.
  init(connectingTo path: String) throws {
    socket = try UnixSocket.makeForPackets()
    try UnixSocket.connect(socket, to: path)
  }

  /// Plays the keeper to the next bus that connects to `listener`.
  init(acceptedAt listener: borrowing FileDescriptor) throws {
    try Self.wait(for: listener)
    guard let accepted = try UnixSocket.accept(listener) else { throw Errno.again }
    socket = accepted
  }

  /// A listening socket for a test that plays the keeper.
  static func listening(at path: String) throws -> FileDescriptor {
    let listener = try UnixSocket.makeForPackets()
    try UnixSocket.bind(listener, to: path)
    try UnixSocket.listen(listener)
    return listener
  }

  private static func wait(for socket: borrowing FileDescriptor) throws {
    guard try Poll.wait(for: socket, forWriting: false, timeout: .seconds(Programs.patienceSeconds)) else {
      throw Errno.timedOut
    }
  }

  func send(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws {
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    message.append(to: buffer)
    try send([UInt8](buffer.bytes), passing: descriptors)
  }

  /// Sends a packet with any bytes.
  func send(_ bytes: [UInt8], passing descriptors: [CInt] = []) throws {
    let buffer = ByteBuffer(capacity: bytes.count)
    buffer.append(bytes)
    guard try UnixSocket.send(buffer.bytes, passing: descriptors, to: socket) > 0 else { throw Errno.again }
  }

  /// - Throws: `Ended` if the other end has hung up.
  func receive() throws -> Reception {
    try Self.wait(for: socket)
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    var passed = PassedDescriptors()
    do throws(Errno) {
      let received = try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
      guard case .bytes = received else { throw Errno.connectionReset }
    } catch {
      throw error.isDisconnection ? Ended() : error
    }
    let message = try KeeperMessage(buffer.bytes, descriptorCount: passed.count)
    return Reception(message: message, descriptors: passed.releaseAll())
  }

  /// Receives the next message, which has to be this one.
  func expect(_ message: KeeperMessage) throws {
    let reception = try receive()
    for descriptor in reception.descriptors { close(descriptor) }
    guard reception.message == message else {
      throw Programs.Missing(description: "expected \(message), received \(reception.message)")
    }
  }

  func hangUp() { UnixSocket.shutdown(socket) }

  /// Receives everything that the keeper has.
  func receiveAll() throws -> [KeptItem: CInt] {
    var all: [KeptItem: CInt] = [:]
    while true {
      let reception = try receive()
      switch reception.message {
      case .batch(let items):
        for (item, descriptor) in zip(items, reception.descriptors) { all[item] = descriptor }
        try send(.acknowledged(count: items.count))
      // With `acknowledged`, the keeper says that it has nothing.
      case .end, .acknowledged: return all
      default: throw Programs.Missing(description: "expected what it has, received \(reception.message)")
      }
    }
  }
}
