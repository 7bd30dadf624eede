// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Bytes of files that the bus may not have taken yet. Only the writer uses it.
final class PassedCount: Sendable {
  private let count = Atomic(0)

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  /// Starts again with a new connection, over which nothing has been passed.
  func reset() { count.store(0, ordering: .relaxed) }

  /// Whether another file may be passed now.
  func hasCapacity(for bytes: Int, _ limit: Int, on socket: borrowing FileDescriptor) throws(Errno) -> Bool {
    let passed = count.load(ordering: .relaxed)
    guard passed > 0, passed + bytes > limit else { return true }
    guard try UnixSocket.isDrained(socket) else { return false }
    count.store(0, ordering: .relaxed)
    return true
  }
}
