// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What somebody wants to do: with one message, or with all messages that a registration is about.
package struct Request: Sendable {
  package var action: Action
  /// The name of a message, or the pattern of a registration.
  package var pattern: Pattern
  /// The object; empty for a message without one, nil for a registration that is about any.
  package var object: String?
  /// Whether a part that is allowed does not suffice to list it.
  package var needsAll = false

  package init(_ action: Action, _ pattern: Pattern, object: String?) {
    (self.action, self.pattern, self.object) = (action, pattern, object)
  }

  /// To list what has no name: objects, protocols, and the connections of others.
  package static var listAll: Request {
    var request = Request(.list, .any, object: nil)
    request.needsAll = true
    return request
  }

  /// `hold host.shouldReboot for "unit/a.service"`.
  package var description: String {
    let about = object.map { $0.isEmpty ? "" : " for \"\($0.escaped)\"" } ?? ""
    return "\(action.name) \(pattern.text)\(about)"
  }
}
