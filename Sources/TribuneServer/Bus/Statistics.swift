// SPDX-License-Identifier: Apache-2.0

/// What the bus has counted, over all daemons that it has had.
nonisolated struct Statistics {
  var posted: UInt64 = 0
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
}
