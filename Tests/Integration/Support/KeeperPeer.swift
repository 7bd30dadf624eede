// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneServer
import TribuneSystem
import TribuneWire

final class KeeperPeer {
  struct Ended: Error {}

  /// The receiver closes the descriptors.
  struct Reception {
    let message: KeeperMessage
    let descriptors: [CInt]
  }

  private let socket: FileDescriptor

  init(connectingTo path: String) throws {
    socket = try UnixSocket.makeForPackets()
    try UnixSocket.connect(socket, to: path)
  }

  func send(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws {
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    message.append(to: buffer)
    guard try UnixSocket.send(buffer.bytes, passing: descriptors, to: socket) > 0 else { throw Errno.again }
  }

  /// Throws `Ended` if the other end has hung up.
  func receive() throws -> Reception {
    guard try Poll.wait(for: socket, forWriting: false, timeout: .seconds(Programs.patienceSeconds)) else {
      throw Errno.timedOut
    }
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

  func expect(_ message: KeeperMessage) throws {
    let reception = try receive()
    for descriptor in reception.descriptors { close(descriptor) }
    guard reception.message == message else {
      throw Programs.Missing(description: "expected \(message), received \(reception.message)")
    }
  }

  func hangUp() { UnixSocket.shutdown(socket) }

  func receiveAll() throws -> [KeptItem: CInt] {
    var all: [KeptItem: CInt] = [:]
    while true {
      let reception = try receive()
      switch reception.message {
      case .batch(let items):
        for (item, descriptor) in zip(items, reception.descriptors) { all[item] = descriptor }
        try send(.acknowledged(count: items.count))
      // `acknowledged` means that the keeper is empty.
      case .end, .acknowledged: return all
      default: throw Programs.Missing(description: "expected what it has, received \(reception.message)")
      }
    }
  }
}
