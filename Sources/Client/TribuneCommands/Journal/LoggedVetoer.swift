// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribunePolicy
import TribuneWire

/// Whose delegate or hold vetoed.
enum LoggedVetoer: Hashable, Sendable {
  /// The units for which systemd vouches, as `SYSTEM` or `SYSTEM/USER`.
  case unit(String)
  /// The label of what is in no unit, or its process. It is a claim.
  case label(String)

  /// The most bytes that are kept. No unit and no label has as many, but any process can write to the journal.
  private static let lengthMax = 600

  /// Nil if the outcome is not a veto.
  ///
  /// - Parameters:
  ///   - outcome: as TRIBUNE_OUTCOMES= has it, which does not say of a failure whether it counts as a veto.
  ///   - vetoers: all of TRIBUNE_VETOED_BY=.
  init?(_ outcome: JSONNode, among vetoers: [String]) {
    let text = { (name: String) in outcome[name]?.string ?? "" }
    let who = [text("label"), text("process")].first { !$0.isEmpty }
    let name = who ?? "delegate \(outcome["delegate"]?.integer ?? 0)"
    switch text("outcome") {
    case "vetoed", "held": break
    case "timedOut", "gone", "failed": guard vetoers.contains(name.escaped) else { return nil }
    default: return nil
    }
    let units = PeerUnits(system: text("systemUnit"), user: text("userUnit")).text
    self =
      units.isEmpty
      ? .label(name.prefix(utf8Length: Self.lengthMax)) : .unit(units.prefix(utf8Length: Self.lengthMax))
  }

  /// Whether it is in a unit of the system that a glob matches; or in one of a user, for `SYSTEM/USER`.
  func isIn(unit glob: String) -> Bool {
    guard case .unit(let units) = self else { return false }
    return [units[...], units.prefix { $0 != "/" }].contains {
      Condition.matches(glob: glob.utf8[...], $0.utf8)
    }
  }

  /// A label has quotation marks, so that none can pass for a unit.
  var text: String {
    switch self {
    case .unit(let units): units
    case .label(let label): "\"\(label)\""
    }
  }

  func json(_ count: Int) -> JSONValue {
    let (unit, label) =
      switch self {
      case .unit(let units): (units, "")
      case .label(let label): ("", label)
      }
    return .object([("unit", .string(unit)), ("label", .string(label)), ("count", .integer(count))])
  }
}
