// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Limits the length of a verdict's reasons and identities. Without these limits, many holds and delegates
/// could make the verdict arbitrarily long.
struct OutcomeBudget {
  private var identitiesLength: Int
  private var reasonsLength: Int

  init(_ limits: BusLimits) {
    identitiesLength = limits.outcomeIdentitiesMax
    reasonsLength = limits.outcomeReasonsMax
  }

  /// True if `count` outcomes with `answers` bytes certainly fit. The caller can then skip `admit` and `cut`.
  func fits(_ count: Int, answers: Int) -> Bool {
    count <= identitiesLength / Self.identityLengthMax && answers <= reasonsLength
  }

  private static var identityLengthMax: Int { 2048 }

  /// Returns false if an identity of this length does not fit. All later calls then return false.
  mutating func admit(_ length: Int) -> Bool {
    guard length <= identitiesLength else {
      identitiesLength = 0
      return false
    }
    identitiesLength -= length
    return true
  }

  /// Cuts the reason to the rest of the budget. After the first cut, each further reason becomes `…`.
  mutating func cut(_ reason: String) -> String {
    let length = reason.utf8.count
    guard length > reasonsLength else {
      reasonsLength -= length
      return reason
    }
    defer { reasonsLength = 0 }
    return reason.prefix(utf8Length: reasonsLength) + "…"
  }
}
