// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Another host of the cluster, as a delegate on this host's bus.
final class HostDelegate: Delegate {
  let host: String
  private let ask: @Sendable @MainActor (String, Question) async -> Answer

  init(_ host: String, _ ask: @escaping @Sendable @MainActor (String, Question) async -> Answer) {
    (self.host, self.ask) = (host, ask)
  }

  /// - Note: a question that a gateway asks for another host has crossed already.
  func answer(_ question: Question) async throws -> Answer {
    LoopRule.allows(asker: question.asker) ? await ask(host, question) : .abstain
  }
}
