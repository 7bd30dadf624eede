// SPDX-License-Identifier: Apache-2.0

nonisolated struct Statistics {
  var posted: UInt64 = 0
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  var denied: UInt64 = 0
  /// Excludes refusals by the policy, which `denied` counts.
  var refused: UInt64 = 0
  var postedBytes: UInt64 = 0
}
