// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

/// A delegate on this bus that stands for a host of the cluster.
nonisolated final class HostDelegate: Delegate {
  enum Role {
    /// Responds to names of the configuration, and asks the other host by the same names.
    case configured
    /// Responds to names that only gateways answer (`GatewayName`).
    case scoped
  }

  let role: Role
  private let mark: Instance
  private let ask: Ask
  private let onReplacement = Mutex<(@Sendable (DelegateInfo) async -> Void)?>(nil)

  typealias Ask = @Sendable (Question, _ name: String, _ userInfo: UserInfo) async -> Answer

  init(_ role: Role, _ mark: Instance, _ ask: @escaping Ask) {
    (self.role, self.mark, self.ask) = (role, mark, ask)
  }

  func whenReplaced(_ work: @escaping @Sendable (DelegateInfo) async -> Void) {
    onReplacement.withLock { $0 = work }
  }

  func replaced(by delegate: DelegateInfo) async {
    let work = onReplacement.withLock { $0 }
    await work?(delegate)
  }

  /// Abstains if a gateway asks, because such a question came from another host, or is for this host only.
  /// This gateway's questions for FleetLock clients are the exception.
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
    // A configured pattern can also match names of this gateway's other delegates, such as `Leases`.
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
      return
    }
  }
}
