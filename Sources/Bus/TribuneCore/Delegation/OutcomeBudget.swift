// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The space that is left in a verdict for holds or delegates.
///
/// Clients that may hold or delegate a name choose the length of their reasons and labels. Without a bound,
/// they could make each verdict on it arbitrarily long.
struct OutcomeBudget {
  private var identitiesLength: Int
  private var reasonsLength: Int

  init(_ limits: BusLimits) {
    identitiesLength = limits.outcomeIdentitiesMax
    reasonsLength = limits.outcomeReasonsMax
  }

  /// True if so many delegates fit by a safe estimate, so their outcomes need not be admitted one by one.
  func fits(_ count: Int, answers: Int) -> Bool {
    count <= identitiesLength / Self.identityLengthMax && answers <= reasonsLength
  }

  /// An upper bound of `rememberedLength`.
  private static var identityLengthMax: Int { 2048 }

  /// Charges an outcome without its reason; returns false if it does not fit. Later ones do not fit either: a
  /// verdict lists the first ones.
  mutating func admit(_ length: Int) -> Bool {
    guard length <= identitiesLength else {
      identitiesLength = 0
      return false
    }
    identitiesLength -= length
    return true
  }

  /// Charges a reason. The first one that does not fit is cut, and all later ones are dropped.
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
