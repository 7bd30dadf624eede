// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Bounds a verdict's reasons and labels. Clients that may hold or delegate its name could make them arbitrarily long.
struct OutcomeBudget {
  private var identitiesLength: Int
  private var reasonsLength: Int

  init(_ limits: BusLimits) {
    identitiesLength = limits.outcomeIdentitiesMax
    reasonsLength = limits.outcomeReasonsMax
  }

  /// A safe estimate: if true, `admit` can be skipped.
  func fits(_ count: Int, answers: Int) -> Bool {
    count <= identitiesLength / Self.identityLengthMax && answers <= reasonsLength
  }

  private static var identityLengthMax: Int { 2048 }

  /// Once an outcome does not fit, later ones do not either: a verdict lists the first ones.
  mutating func admit(_ length: Int) -> Bool {
    guard length <= identitiesLength else {
      identitiesLength = 0
      return false
    }
    identitiesLength -= length
    return true
  }

  /// Cuts the first reason that does not fit, and all later ones.
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
