// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribunePolicy
import TribuneWire

enum LoggedVetoer: Hashable, Sendable {
  /// The vetoer's units, as systemd reported them to the bus: `SYSTEM` or `SYSTEM/USER`.
  case unit(String)
  /// A vetoer without a unit: its label, or else its process's name. A process can choose any text for both.
  case label(String)

  /// The most bytes of a text that are kept. Any process can write longer units and labels to the journal.
  private static let lengthMax = 600

  /// - Parameters:
  ///   - outcome: an element of TRIBUNE_OUTCOMES=. It does not show whether a failure counts as a veto.
  ///   - vetoers: all values of TRIBUNE_VETOED_BY=. They include delegates whose failures count as vetoes.
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
