// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

// A log that crashes the recovering process also crashes each successor that the service manager starts,
// until the service manager gives up. The log therefore counts unfinished recoveries.

extension WriteAheadLog {
  /// After three unfinished recoveries in a row, the log has probably caused the crashes. So the next process
  /// does not adopt the log.
  package static let recoveriesMax: UInt32 = 3

  /// Counts a recovery as unfinished until `endRecovery`. Call this method before you read the log's entries.
  package func beginRecovery() {
    let count = Self.unfinishedRecoveries(in: mapping)
    mapping.publish(CheckedWord(count + 1).bits, at: LogHeader.recoveriesOffset)
  }

  /// Call this method when the recovery has succeeded, or has failed for a reason other than the log.
  package func endRecovery() { mapping.publish(CheckedWord(0).bits, at: LogHeader.recoveriesOffset) }

  static func unfinishedRecoveries(in mapping: borrowing SharedMapping) -> UInt32 {
    min(CheckedWord(bits: mapping.load(at: LogHeader.recoveriesOffset)).value ?? 0, recoveriesMax)
  }
}
