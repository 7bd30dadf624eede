// SPDX-License-Identifier: Apache-2.0

extension WireLimits {
  /// The latest expiry of a hold, in nanoseconds. It is the largest time of the monotonic clock.
  package static let expiry = UInt64(Int64.max)
}
