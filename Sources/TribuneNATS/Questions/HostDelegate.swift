// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Another host of the cluster, as a delegate on this host's bus.
final class HostDelegate: Delegate {
  let host: String
  private let ask: @Sendable @MainActor (String, Question) async -> Answer

  init(_ host: String, _ ask: @escaping @Sendable @MainActor (String, Question) async -> Answer) {
    (self.host, self.ask) = (host, ask)
  }

  /// - Note: a question that a gateway asks for another host has crossed already. A lease is taken by the host that asks.
  func answer(_ question: Question) async throws -> Answer {
    guard LoopRule.allows(asker: question.asker), !LeaseRequest.names.contains(question.name) else {
      return .abstain
    }
    return await ask(host, question)
  }
}
