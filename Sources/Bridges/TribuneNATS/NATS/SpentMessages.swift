// SPDX-License-Identifier: Apache-2.0

import CNats
import Synchronization

/// Destroys messages of libnats several at a time: libnats wakes a thread of its own to destroy one, which costs more than all
/// else that is done with it.
nonisolated enum SpentMessages {
  /// So many of the longest that NATS takes may wait, for as long as no other comes.
  private static let countMax = 16

  /// Their addresses. Each message belongs to this list alone.
  private static let pending = Mutex<[UInt]>([])

  /// - Parameter message: belongs to this list from now on.
  static func add(_ message: OpaquePointer) {
    let address = UInt(bitPattern: message)
    let spent = pending.withLock { pending -> [UInt] in
      pending.append(address)
      guard pending.count >= countMax else { return [] }
      defer { pending.removeAll() }
      return pending
    }
    for address in spent { unsafe natsMsg_Destroy(OpaquePointer(bitPattern: address)) }
  }
}
