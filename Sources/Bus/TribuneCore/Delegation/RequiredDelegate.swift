// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package enum RequiredDelegate: Equatable, Sendable {
  /// A label, which any connection can claim.
  case label(String)
  /// A system unit. User units do not count, because users choose the names of their units.
  case unit(String)

  /// Parses `label:NAME` and `unit:NAME`. Returns nil for other texts.
  package init?(_ text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = String(text[text.utf8.index(after: colon)...])
    guard !name.isEmpty else { return nil }
    switch text[..<colon] {
    case "label": self = .label(name)
    case "unit": self = .unit(name)
    default: return nil
    }
  }

  package var text: String {
    switch self {
    case .label(let name): "label:\(name)"
    case .unit(let name): "unit:\(name)"
    }
  }

  func isMet(by delegate: DelegateIdentity) -> Bool {
    switch self {
    case .label(let name): ExactText(delegate.label) == ExactText(name)
    case .unit(let name): ExactText(delegate.peer.units.system) == ExactText(name)
    }
  }
}
