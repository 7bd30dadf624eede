// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Answers what this host's programs ask about leases.
final class LeaseDelegate: Delegate {
  private let leases: Leases

  init(_ leases: Leases) { self.leases = leases }

  /// - Note: what a gateway asks for another host, that host's own gateway has to answer.
  func answer(_ question: Question) async throws -> Answer {
    guard question.wantsValue, LoopRule.allows(asker: question.asker) else { return .abstain }
    do throws(LeaseRequest.Mistake) {
      return await leases.answer(try LeaseRequest(question), question)
    } catch {
      return .failed(error.message)
    }
  }
}
