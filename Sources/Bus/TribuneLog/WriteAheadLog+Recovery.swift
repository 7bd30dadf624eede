// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

// If a log crashed the process that recovers from it, it would crash every restart, until the service manager
// gives up. So the log counts unfinished recoveries.

extension WriteAheadLog {
  /// A process can die at any moment, but hardly in three recoveries in a row.
  package static let recoveriesMax: UInt32 = 3

  /// Counts a recovery as unfinished until `endRecovery`. Must precede all other reads from an adopted log.
  package func beginRecovery() {
    let count = Self.unfinishedRecoveries(in: mapping)
    mapping.publish(CheckedWord(count + 1).bits, at: LogHeader.recoveriesOffset)
  }

  /// Call this when the recovery has succeeded, or has failed for a reason other than the log.
  package func endRecovery() { mapping.publish(CheckedWord(0).bits, at: LogHeader.recoveriesOffset) }

  static func unfinishedRecoveries(in mapping: borrowing SharedMapping) -> UInt32 {
    min(CheckedWord(bits: mapping.load(at: LogHeader.recoveriesOffset)).value ?? 0, recoveriesMax)
  }
}
