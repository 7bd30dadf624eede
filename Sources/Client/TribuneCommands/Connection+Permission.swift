// SPDX-License-Identifier: Apache-2.0

import Tribune

extension Connection {
  /// - Parameter action: an action of tribune-policy(5), such as `post`.
  /// - Throws: `notPermitted` if the policy denies the action. The message has the reason.
  func requirePermission(to action: String, _ name: String, object: String) async throws(TribuneError) {
    let decision = try await policyDecision(on: action, name, object: object)
    guard !decision.isAllowed else { return }
    let about = object.isEmpty ? "" : " for \"\(object)\""
    let reason =
      decision.line.map { "denied by \($0.file):\($0.number)" } ?? "no line of the policy allows it"
    throw TribuneError(
      .notPermitted, "user \(decision.subject.uid) may not \(action) \(name)\(about): \(reason)")
  }
}
