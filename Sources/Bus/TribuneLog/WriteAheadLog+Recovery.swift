// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

// A log that crashes the process recovering from it would crash every restart, until the service manager gives up. So the
// log counts recoveries that did not end.

extension WriteAheadLog {
  /// The number of processes that have to die while they recover from a log before the log counts as the cause. Any
  /// process can die at any moment, for example of a lack of memory; three in a row are hardly chance.
  package static let recoveriesMax: UInt32 = 3

  /// Call it after adopting a log, before reading anything else from it.
  package func beginRecovery() {
    let count = Self.unfinishedRecoveries(in: mapping)
    mapping.publish(CheckedWord(count + 1).bits, at: LogHeader.recoveriesOffset)
  }

  /// Clears the count. Call it when the recovery has succeeded, or has failed for a reason other than the log.
  package func endRecovery() { mapping.publish(CheckedWord(0).bits, at: LogHeader.recoveriesOffset) }

  /// The recoveries since the last one that ended; 0 if that number is damaged.
  static func unfinishedRecoveries(in mapping: borrowing SharedMapping) -> UInt32 {
    min(CheckedWord(bits: mapping.load(at: LogHeader.recoveriesOffset)).value ?? 0, recoveriesMax)
  }
}
