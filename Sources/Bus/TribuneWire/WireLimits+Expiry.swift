// SPDX-License-Identifier: Apache-2.0

extension WireLimits {
  /// The latest expiry of a hold, in nanoseconds of the monotonic clock: the largest time that the clock can show.
  package static let expiry = UInt64(Int64.max)
}
