// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// How the configuration names a delegate that must be attached.
package enum RequiredDelegate: Equatable, Sendable {
  /// Every connection chooses the labels of its delegates.
  case label(String)
  /// The unit of the system's service manager that the delegate's process runs in. A user's unit does not count,
  /// because users choose the names of theirs.
  case unit(String)

  /// Parses `label:NAME` and `unit:NAME`; nil for other texts.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[1].isEmpty else { return nil }
    switch parts[0] {
    case "label": self = .label(parts[1])
    case "unit": self = .unit(parts[1])
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
    case .label(let name): delegate.label == name
    case .unit(let name): delegate.peer.units.system == name
    }
  }
}
