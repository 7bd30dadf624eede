// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Foundation
import Synchronization

/// Clients of the relay with the structure of the library's, and nothing else. A thread for each connection waits in
/// the kernel. What it receives resumes a waiting task, or a new task answers it. Tasks send directly.
enum RelayTasks {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static func roundTrips(_ count: Int, through server: Server) async throws -> [UInt64] {
    let requester = try Client(server.address)
    defer { requester.end() }
    let responder = try Client(server.address)
    defer { responder.end() }
    requester.start { requester.resume(with: $0) }
    responder.start { number in
      // If this cannot be sent, the requester misses it.
      if let number { Task { _ = responder.send(number) } }
    }
    return try await timed(count) { trip in
      guard await requester.exchange(trip) == trip else {
        throw Failure(description: "relay: a message was lost or changed")
      }
    }
  }

  /// One connection. Its thread closes the descriptor when it ends.
  private final class Client: Sendable {
    private typealias Message = InlineArray<8, UInt64>

    private let descriptor: CInt
    private let waiting = Mutex<CheckedContinuation<UInt64?, Never>?>(nil)

    init(_ path: String) throws {
      var failure = driver_failure()
      descriptor = unsafe driver_connect(path, &failure)
      guard descriptor != -1 else { throw Failure(description: failure.message) }
    }

    /// Starts the thread that passes on the number in each message, and nil at the end.
    func start(_ received: @escaping @Sendable (UInt64?) -> Void) {
      Thread.detachNewThread { [self] in
        var message = Message(repeating: 0)
        while unsafe driver_receive(descriptor, &message, MemoryLayout<Message>.size) { received(message[7]) }
        received(nil)
        close(descriptor)
      }
    }

    func send(_ number: UInt64) -> Bool {
      var message = Message(repeating: 0)
      message[7] = number
      return unsafe driver_send(descriptor, &message, MemoryLayout<Message>.size)
    }

    /// Sends a message and returns the number in the reply; nil if there is none.
    func exchange(_ number: UInt64) async -> UInt64? {
      await withCheckedContinuation { continuation in
        waiting.withLock { $0 = continuation }
        if !send(number) { resume(with: nil) }
      }
    }

    func resume(with number: UInt64?) {
      waiting.withLock { $0.take() }?.resume(returning: number)
    }

    func end() { shutdown(descriptor, CInt(SHUT_RDWR)) }
  }
}

/// How long each of `count` trips takes, in nanoseconds, after some that are not timed. Trips are numbered from 1.
func timed(_ count: Int, _ trip: (UInt64) async throws -> Void) async throws -> [UInt64] {
  var durations: [UInt64] = []
  durations.reserveCapacity(count)
  let warmUp = UInt64(driver_warm_up)
  for number in 1...warmUp + UInt64(count) {
    let start = driver_nanoseconds()
    try await trip(number)
    let end = driver_nanoseconds()
    if number > warmUp { durations.append(end - start) }
  }
  return durations
}
