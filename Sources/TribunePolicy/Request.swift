// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What somebody wants to do: with one message, or with all messages that a registration is about.
package struct Request: Sendable {
  package var action: Action
  /// The name of a message, or the pattern of a registration.
  package var pattern: Pattern
  /// The object; empty for a message without one, nil for a registration that is about any.
  package var object: String?

  package init(_ action: Action, _ pattern: Pattern, object: String?) {
    (self.action, self.pattern, self.object) = (action, pattern, object)
  }

  /// `hold host.shouldReboot for "unit/a.service"`.
  package var description: String {
    let about = object.map { $0.isEmpty ? "" : " for \"\($0.escaped)\"" } ?? ""
    return "\(action.name) \(pattern.text)\(about)"
  }
}
