// SPDX-License-Identifier: Apache-2.0

package struct PolicyTest: Sendable {
  package var isAllowed: Bool
  package var request: Request
  package var subject: Subject
  package var who: String
  package var origin: PolicyLine.Origin

  package func failure(of policy: Policy) -> String? {
    let (decision, request) = policy.wholeDecision(on: request, by: subject)
    guard decision.isAllowed != isAllowed else { return nil }
    let expected = isAllowed ? "allow" : "deny"
    let needed = request.action == self.request.action ? "" : ", which needs \(request.action.name),"
    return
      "expected \(expected) \(self.request.description)\(needed) for \(who): \(policy.reason(of: decision))"
  }
}

extension Action {
  /// True for actions on one message, and false for registrations and lists.
  package var isAboutMessages: Bool {
    switch self {
    case .post, .retain, .ask, .override, .claim: true
    case .observe, .delegate, .set, .hold, .declare, .monitor, .list: false
    }
  }
}
