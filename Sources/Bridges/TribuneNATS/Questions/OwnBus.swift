// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneWire

/// Asks this host's bus. The delegates that stand for other hosts abstain if a gateway asks, so a question
/// crosses between hosts only once.
nonisolated final class OwnBus: Sendable {
  struct Request {
    var name: String
    var object: String
    var userInfo: UserInfo
    var wantsValue: Bool
    var isDryRun: Bool
    /// The time for an answer. Progress may extend it.
    var timeout: Duration
    /// The query on this bus that waits for the answer; nil if another host asks.
    var parent: UInt64?
    /// The names that the asker may see; nil for all.
    var patterns: [Pattern]?
  }

  private let host: String
  private let bus = Mutex<Connection?>(nil)
  private let peers: @Sendable @MainActor () -> HostReport.Peers

  init(host: String, peers: @escaping @Sendable @MainActor () -> HostReport.Peers) {
    (self.host, self.peers) = (host, peers)
  }

  func use(_ bus: Connection?) { self.bus.withLock { $0 = bus } }

  var executor: (any TaskExecutor)? { bus.withLock { $0?.executor } }

  func decide(
    _ request: Request, progress: @escaping @Sendable (ReplyEnvelope) -> Void
  ) async -> (ReplyEnvelope, [UInt8]) {
    guard let bus = bus.withLock({ $0 }) else { return (.failed("the bus of \(host) is gone"), []) }
    let report: @Sendable (Tribune.Progress) -> Void = { [timeout = request.timeout] news in
      if let need = Self.need(news, within: timeout) { progress(need) }
    }
    do throws(TribuneError) {
      if case .report(let kind)? = GatewayName(request.name) {
        guard request.wantsValue else { return (.failed("\(request.name) is no question but a value"), []) }
        let value = try await HostReport.make(
          kind, object: request.object, userInfo: request.userInfo, patterns: request.patterns,
          await peers(), on: bus)
        return (.value, value)
      }
      if request.wantsValue {
        let reply = try await bus.query(
          request.name, object: request.object, userInfo: request.userInfo, deadline: bus.bus.deadlineMax,
          parent: request.parent, progress: report)
        return (ReplyEnvelope(reply), reply.value?.bytes ?? [])
      }
      let verdict = try await bus.ask(
        request.name, object: request.object, userInfo: request.userInfo, deadline: bus.bus.deadlineMax,
        isDryRun: request.isDryRun, parent: request.parent, progress: report)
      return (ReplyEnvelope(verdict), [])
    } catch {
      return (.failed("the bus of \(host): \(error)"), [])
    }
  }

  /// The progress to report if the asker must wait longer; otherwise nil.
  private static func need(_ progress: Tribune.Progress, within timeout: Duration)
    -> ReplyEnvelope?
  {
    // The gateway's own delegates abstain at once, so their progress does not matter.
    guard progress.process != LoopRule.process else { return nil }
    let who = progress.label.isEmpty ? progress.process : progress.label
    switch progress.stage {
    case .deferred:
      return .progress(
        timeout: progress.timeout,
        status: [who, progress.status].filter { !$0.isEmpty }.joined(separator: ": "))
    case .asked where progress.timeout + Inquiry.margin * 3 > timeout:
      return .progress(timeout: progress.timeout, status: "waiting for \(who)")
    case .asked, .settled: return nil
    }
  }
}
