// SPDX-License-Identifier: Apache-2.0

import CNats
import Synchronization

/// Destroys libnats's messages in batches. libnats destroys messages on a thread of its own. Waking that
/// thread costs more than all other work on a message, and a batch usually wakes the thread only once.
nonisolated enum SpentMessages {
  private static let countMax = 16

  /// The addresses of messages that this type owns.
  private static let pending = Mutex<[UInt]>([])

  /// Takes ownership of the message.
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
