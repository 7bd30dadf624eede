// SPDX-License-Identifier: Apache-2.0

import Tribune

/// A host of the cluster, as a delegate on this bus.
nonisolated final class HostDelegate: Delegate {
  enum Role {
    /// Those under names of the configuration, which the host is asked as they are.
    case configured
    /// Those that gateways alone answer.
    case scoped
  }

  let role: Role
  private let mark: Instance
  private let ask: Ask

  /// Puts a question to the host, under a name, and with what it may know.
  typealias Ask = @Sendable (Question, _ name: String, _ userInfo: UserInfo) async -> Answer

  init(_ role: Role, _ mark: Instance, _ ask: @escaping Ask) {
    (self.role, self.mark, self.ask) = (role, mark, ask)
  }

  /// Any other question that a gateway asks has crossed already, or is for this host alone.
  func answer(_ question: Question) async throws -> Answer {
    let userInfo: UserInfo
    if LoopRule.allows(asker: question.asker) {
      userInfo = question.userInfo
    } else if let known = FleetLockQuestion.userInfoForOthers(question, mark) {
      userInfo = known
    } else {
      return .abstain
    }
    switch (role, GatewayName(question.name)) {
    case (.configured, nil), (.scoped, .report): return await ask(question, question.name, userInfo)
    case (.scoped, .cluster(let name)), (.scoped, .host(let name)):
      guard GatewayName(name) == nil else { return .failed("\(name) cannot be asked by a scope") }
      return await ask(question, name, userInfo)
    // A pattern of the configuration may match what others answer. A lease is taken by the host that asks.
    case (.configured, _), (.scoped, .lease), (.scoped, nil): return .abstain
    }
  }
}

nonisolated extension Answer {
  var isObjection: Bool {
    switch self {
    case .veto, .failed: true
    case .approve, .abstain, .value: false
    }
  }
}

nonisolated extension Question {
  func extend(by span: Duration, _ status: String) async {
    do throws(TribuneError) {
      try await deferAnswer(by: span, status: status)
    } catch {
      // The question is over; the bus says so by itself.
      return
    }
  }
}
