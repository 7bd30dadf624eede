// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing
import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// A keeper that follows a script, on its own thread.
final class KeeperScript: Sendable {
  enum Step: Sendable {
    /// Until then, acknowledges other batches and requests to forget.
    case hears(KeeperMessage)
    case says(KeeperMessage)
    /// The script owns the descriptors, which can be fewer than the items.
    case gives([KeptItem], [CInt])
    case saysBytes([UInt8])
    case hangsUp
    case hearsEnd
  }

  private static let limit = Duration.seconds(60)

  private struct Deviation: Error, CustomStringConvertible { let description: String }

  let folder: TemporaryFolder
  private let listener: FileDescriptor
  private let outcome: AsyncStream<String?>

  var path: String { "\(folder.path)/keeper" }

  init(_ steps: [Step]) throws {
    folder = try TemporaryFolder()
    listener = try UnixSocket.makeForPackets()
    let (outcome, continuation) = AsyncStream<String?>.makeStream()
    self.outcome = outcome
    try UnixSocket.bind(listener, to: "\(folder.path)/keeper")
    try UnixSocket.listen(listener)
    try TribuneSystem.Thread.start { [self] in
      do {
        try play(steps)
        continuation.yield(nil)
      } catch {
        continuation.yield("\(error)")
      }
      continuation.finish()
    }
  }

  func expectEnd() async {
    for await deviation in outcome { #expect(deviation == nil) }
  }

  private func play(_ steps: [Step]) throws {
    var rest = steps[...]
    while !rest.isEmpty {
      guard try Poll.wait(for: listener, forWriting: false, timeout: Self.limit),
        let socket = try UnixSocket.accept(listener)
      else { throw Deviation(description: "no bus connects") }
      while let step = rest.popFirst() {
        if case .hangsUp = step { break }
        try Self.play(step, over: socket)
      }
    }
  }

  private static func play(_ step: Step, over socket: borrowing FileDescriptor) throws {
    switch step {
    case .hears(let expected):
      while true {
        let message = try receive(from: socket)
        if message == expected { return }
        guard try acknowledges(message, over: socket) else {
          throw Deviation(description: "\(String(describing: message)), and not \(expected)")
        }
      }
    case .says(let message): try send(message, to: socket)
    case .gives(let items, let descriptors):
      try send(.batch(items), passing: descriptors, to: socket)
      for descriptor in descriptors { close(descriptor) }
    case .saysBytes(let bytes): _ = try UnixSocket.send(bytes.raw, passing: [], to: socket)
    case .hearsEnd:
      do {
        while let message = try receive(from: socket) { _ = try acknowledges(message, over: socket) }
      } catch let error as Errno where error.isDisconnection {
        return
      }
    case .hangsUp: return
    }
  }

  private static func acknowledges(
    _ message: KeeperMessage?, over socket: borrowing FileDescriptor
  ) throws -> Bool {
    switch message {
    case .batch(let items)?: try send(.acknowledged(count: items.count), to: socket)
    case .forget?: try send(.acknowledged(count: 0), to: socket)
    default: return false
    }
    return true
  }

  private static func send(
    _ message: KeeperMessage, passing descriptors: [CInt] = [], to socket: borrowing FileDescriptor
  ) throws {
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    message.append(to: buffer)
    _ = try UnixSocket.send(buffer.bytes, passing: descriptors, to: socket)
  }

  /// Closes the message's descriptors. nil when the bus has hung up.
  private static func receive(from socket: borrowing FileDescriptor) throws -> KeeperMessage? {
    guard try Poll.wait(for: socket, forWriting: false, timeout: limit) else {
      throw Deviation(description: "no message comes")
    }
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    var passed = PassedDescriptors()
    do throws(Errno) {
      let received = try UnixSocket.receive(from: socket, into: buffer, &passed, descriptorsMax: .max)
      guard case .bytes = received else { return nil }
    } catch {
      guard error.isDisconnection else { throw error }
      return nil
    }
    return try KeeperMessage(buffer.bytes, descriptorCount: passed.count)
  }
}
