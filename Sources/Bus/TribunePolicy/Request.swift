// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct Request: Sendable {
  package var action: Action
  package var pattern: Pattern
  /// Empty for a message without an object. nil if the request is about all objects.
  package var object: String?
  /// True if permission for a part of the pattern is enough.
  private(set) var isSatisfiedByPart: Bool

  package init(_ action: Action, _ pattern: Pattern, object: String?) {
    (self.action, self.pattern, self.object) = (action, pattern, object)
    isSatisfiedByPart = action == .list
  }

  package init(partOf pattern: Pattern, _ action: Action, object: String?) {
    self.init(action, pattern, object: object)
    isSatisfiedByPart = true
  }

  /// A hypothetical request, of a client that asks what it may do, or of an `expect` line. A request to list
  /// `**` without an object is the request to list everything. Throws if clients cannot make the request.
  package init(about action: Action, _ pattern: Pattern, object: String?) throws(WireError) {
    self.init(action, pattern, object: object)
    switch action {
    case .post, .retain, .ask, .override, .claim: try pattern.text.utf8Bytes.requireUnreservedName()
    case .monitor where object != nil:
      throw WireError(.invalidValue, "a monitor is about any object, so leave the object out")
    case .declare where pattern != .any:
      throw WireError(.invalidValue, "a declaration is about all names, so ask about **")
    case .list where pattern == .any && object == nil: isSatisfiedByPart = false
    case .observe, .delegate, .set, .hold, .declare, .monitor, .list: break
    }
  }

  /// The request to list everything. The bus lists objects, protocols and other users' connections only if
  /// this request is allowed.
  package static var listAll: Request {
    var request = Request(.list, .any, object: nil)
    request.isSatisfiedByPart = false
    return request
  }

  package var description: String {
    let about = object.map { $0.isEmpty ? "" : " for \"\($0.escaped)\"" } ?? ""
    return "\(action.name) \(pattern.text)\(about)"
  }
}
