// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct Request: Sendable {
  package var action: Action
  package var pattern: Pattern
  /// Empty if the request has no object; nil if it is about any object.
  package var object: String?
  /// True if the permission for a part of the pattern is enough.
  private(set) var isOfPart: Bool

  package init(_ action: Action, _ pattern: Pattern, object: String?) {
    (self.action, self.pattern, self.object) = (action, pattern, object)
    isOfPart = action == .list
  }

  package init(partOf pattern: Pattern, _ action: Action, object: String?) {
    self.init(action, pattern, object: object)
    isOfPart = true
  }

  /// A hypothetical request, for explanations and expectations. A request to list `**` means to list
  /// everything. Throws if no client could make the request.
  package init(about action: Action, _ pattern: Pattern, object: String?) throws(WireError) {
    self.init(action, pattern, object: object)
    switch action {
    case .post, .retain, .ask, .override: try pattern.text.utf8Bytes.requireUnreservedName()
    case .monitor where object != nil:
      throw WireError(.invalidValue, "a monitor is about any object, so leave the object out")
    case .declare where pattern != .any:
      throw WireError(.invalidValue, "a declaration is about all names, so ask about **")
    case .list where pattern == .any && object == nil: isOfPart = false
    case .observe, .delegate, .set, .hold, .declare, .monitor, .list: break
    }
  }

  /// The request to list everything. It must be allowed before data without names is listed: objects,
  /// protocols, and others' connections.
  package static var listAll: Request {
    var request = Request(.list, .any, object: nil)
    request.isOfPart = false
    return request
  }

  package var description: String {
    let about = object.map { $0.isEmpty ? "" : " for \"\($0.escaped)\"" } ?? ""
    return "\(action.name) \(pattern.text)\(about)"
  }
}
