// SPDX-License-Identifier: Apache-2.0

extension BinaryInteger {
  /// `1 connection`, `2 connections`; `1 entry`, `2 entries` with a plural.
  package func counted(_ thing: String, _ things: String? = nil) -> String {
    self == 1 ? "1 \(thing)" : "\(self) \(things ?? "\(thing)s")"
  }
}

extension FixedWidthInteger {
  /// `other` must not be negative.
  @inlinable package func saturatingAdding(_ other: Self) -> Self {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }
}
