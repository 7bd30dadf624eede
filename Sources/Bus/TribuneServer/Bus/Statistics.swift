// SPDX-License-Identifier: Apache-2.0

/// What this daemon has counted.
nonisolated struct Statistics {
  var posted: UInt64 = 0
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  /// Frames that the policy refused.
  var denied: UInt64 = 0
  /// Frames that were refused for another reason.
  var refused: UInt64 = 0
  /// The bytes of the notifications that were posted, as frames.
  var postedBytes: UInt64 = 0
}
