// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What a verdict may still list of the holds against a query, or of its delegates.
///
/// Whoever may hold or delegate a name decides how long its reasons and labels are. Without a bound, each verdict on
/// that name could be as long as that one likes.
struct OutcomeBudget {
  private var identitiesLength: Int
  private var reasonsLength: Int

  init(_ limits: BusLimits) {
    identitiesLength = limits.outcomeIdentitiesMax
    reasonsLength = limits.outcomeReasonsMax
  }

  /// Whether so many delegates, with so many bytes of reasons and values, fit without an account of each.
  func fits(_ count: Int, answers: Int) -> Bool {
    count <= identitiesLength / Self.identityLengthMax && answers <= reasonsLength
  }

  /// More bytes than any identity is charged.
  private static var identityLengthMax: Int { 2048 }

  /// Charges an outcome, without its reason. Once one does not fit, none does: those that are listed are the first.
  ///
  /// - Parameter length: the identity's `rememberedLength`.
  /// - Returns: whether it is listed.
  mutating func admit(_ length: Int) -> Bool {
    guard length <= identitiesLength else {
      identitiesLength = 0
      return false
    }
    identitiesLength -= length
    return true
  }

  /// Charges a reason. One that does not fit is cut, and so is every later one.
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
