// SPDX-License-Identifier: Apache-2.0

extension BinaryInteger {
  /// Returns `1 connection` or `2 connections`. Pass an irregular plural, such as `entries`, as `things`.
  package func counted(_ thing: String, _ things: String? = nil) -> String {
    self == 1 ? "1 \(thing)" : "\(self) \(things ?? "\(thing)s")"
  }
}

extension FixedWidthInteger {
  /// Returns `.max` if the sum overflows. `other` must not be negative.
  @inlinable package func saturatingAdding(_ other: Self) -> Self {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }
}
