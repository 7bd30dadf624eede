// SPDX-License-Identifier: Apache-2.0

extension WireLimits {
  /// In nanoseconds. This is the largest time of the monotonic clock.
  package static let expiry = UInt64(Int64.max)
}
