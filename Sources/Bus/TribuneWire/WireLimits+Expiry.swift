// SPDX-License-Identifier: Apache-2.0

extension WireLimits {
  /// In nanoseconds: the largest time that the monotonic clock can show.
  package static let expiry = UInt64(Int64.max)
}
