// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribunePolicy
import TribuneWire

enum LoggedVetoer: Hashable, Sendable {
  /// The vetoer's units, verified by systemd: `SYSTEM` or `SYSTEM/USER`.
  case unit(String)
  /// The label, or else the process's name, of a vetoer without a unit. It is unverified.
  case label(String)

  /// How many bytes of a text are kept. Units and labels are shorter, but any process can write to the journal.
  private static let lengthMax = 600

  /// - Parameters:
  ///   - outcome: an element of TRIBUNE_OUTCOMES=, which does not show whether a failure vetoes.
  ///   - vetoers: all values of TRIBUNE_VETOED_BY=.
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

  func isIn(unit glob: String) -> Bool {
    guard case .unit(let units) = self else { return false }
    return [units[...], units.prefix { $0 != "/" }].contains {
      Condition.matches(glob: glob.utf8[...], $0.utf8)
    }
  }

  /// Quotation marks keep a label from looking like a unit.
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
