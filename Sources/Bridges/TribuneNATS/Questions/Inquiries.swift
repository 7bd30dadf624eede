// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneService
import TribuneWire

/// This host's questions to other hosts. The thread that receives a message also handles it, because a thread
/// switch costs more than all other work. This type resumes tasks and publishes messages outside its lock.
nonisolated final class Inquiries: Sendable {
  private static let weightMax = 64 << 20
  /// If a host outside the roster does not answer, the gateway does not ask that host again for this time.
  /// Otherwise, the host could delay each question.
  private static let muteSpan = Duration.seconds(60)

  private struct Open {
    let host: String
    let name: String
    let message: ClusterMessage
    let extend: @Sendable (Duration, String) -> Void
    let continuation: CheckedContinuation<Tribune.Answer, Never>
    var inquiry: Inquiry
  }

  private struct State {
    /// The open questions, by a random token.
    var open: [String: Open] = [:]
    var weight = 0
    var unheard = Unheard()
    /// The hosts outside the roster that the gateway does not ask until these times.
    var mute: [String: ContinuousClock.Instant] = [:]
    var refusal: String?
    /// When each host of the roster last announced itself.
    var heardAt: [String: ContinuousClock.Instant] = [:]
    /// When this host began to listen for announcements.
    var hearsSince = ContinuousClock.now
    var alarm = Alarm()
  }

  private let subjects: Subjects
  private let instance: Instance
  private let rosterMark: String
  private let publisher: Publisher
  private let lastQuery = Atomic<UInt64>(0)
  private let state = Mutex(State())

  init(_ subjects: Subjects, _ instance: Instance, rosterMark: String, publisher: Publisher) {
    (self.subjects, self.instance, self.publisher) = (subjects, instance, publisher)
    self.rosterMark = rosterMark
  }

  var refusal: String? { state.withLock { $0.refusal } }

  func takeUnheard() -> [String] { state.withLock { $0.unheard.take() } }

  /// Asks a host, and returns its answer. Cancelling the task withdraws the question.
  func ask(
    _ host: String, missing: MissingHost, _ question: Tribune.Question, as name: String, _ userInfo: UserInfo
  ) async -> Tribune.Answer {
    if let lack = publisher.lack ?? state.withLock({ $0.refusal }) {
      state.withLock { $0.unheard.add(name) }
      return .veto("cluster unreachable: \(lack)")
    }
    if missing == .unlisted, state.withLock({ $0.mute[host].map { .now < $0 } ?? false }) { return .abstain }
    let token = Instance().text
    let envelope = AskEnvelope(
      instance: instance, query: lastQuery.add(1, ordering: .relaxed).newValue, object: question.object,
      wantsValue: question.wantsValue, isDryRun: question.isDryRun, timeout: question.timeout,
      peer: RemotePeer(question.asker), rosterMark: rosterMark)
    var message = ClusterMessage(
      subjects.ask(host, name), headers: envelope.headers, payload: userInfo.bytes)
    message.reply = subjects.reply(of: host, token: token)
    guard message.weight <= publisher.payloadMax else {
      return .failed(
        "the userInfo is longer than NATS takes (\(publisher.payloadMax) bytes with its headers)")
    }
    let inquiry = Inquiry(host, missing: missing, timeout: question.timeout, at: .now)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let one = Open(
          host: host, name: name, message: message,
          extend: { span, status in Task { await question.extend(by: span, status) } },
          continuation: continuation, inquiry: inquiry)
        guard add(one, token) else {
          return continuation.resume(returning: .failed("too many questions to the cluster are under way"))
        }
        if Task.isCancelled { return cancel(token) }
        publish(message, token)
      }
    } onCancel: {
      cancel(token)
    }
  }

  private func add(_ one: Open, _ token: String) -> Bool {
    state.withLock { state in
      guard state.weight + one.message.weight <= Self.weightMax else { return false }
      state.open[token] = one
      state.weight += one.message.weight
      state.alarm.set(for: one.inquiry.due) { self.sound() }
      return true
    }
  }

  private func publish(_ message: ClusterMessage, _ token: String) {
    let isSent = publisher.publish(message) { [self] in cutOff(token, "libnats did not send the question") }
    if !isSent { cutOff(token, publisher.lack ?? "too much waits to be sent") }
  }

  // MARK: Timeouts

  private func sound() {
    let tokens = state.withLock { state in
      state.alarm.stop()
      return Array(state.open.keys)
    }
    for token in tokens { update(token) { $0.isDue(at: .now) } }
    state.withLock { state in
      if let next = state.open.values.map(\.inquiry.due).min() { state.alarm.set(for: next) { self.sound() } }
    }
  }

  // MARK: Events

  private func update(_ token: String, _ news: (inout Inquiry) -> Inquiry.Action) {
    let change = state.withLock { state -> (action: Inquiry.Action, one: Open)? in
      guard var one = state.open.removeValue(forKey: token) else { return nil }
      let action = news(&one.inquiry)
      if case .conclude = action {
        state.weight -= one.message.weight
        if one.inquiry.absence != nil { state.unheard.add(one.name) }
      } else {
        state.open[token] = one
      }
      return (action, one)
    }
    if let change { perform(change.action, change.one, token) }
  }

  private func perform(_ action: Inquiry.Action, _ one: Open, _ token: String) {
    switch action {
    case .none: return
    case .extend(let span, let status): one.extend(span, status)
    case .prove(let span):
      one.extend(span, "\(one.host) does not answer")
      Task {
        let isThere = await publisher.isThere()
        update(token) { $0.isProven(isThere) }
      }
    case .askAgain(let pause):
      Task {
        await rest(for: pause)
        if state.withLock({ $0.open[token] != nil }) { publish(one.message, token) }
      }
    case .conclude(let answer):
      if let absence = one.inquiry.absence {
        publishCancel(one)
        if answer == .abstain { handleAbsence(absence, one) }
      }
      one.continuation.resume(returning: answer)
    }
  }

  private func handleAbsence(_ absence: String, _ one: Open) {
    guard one.inquiry.isMute else {
      return ServiceLog.notice("\(one.name): \(absence), which counts as if it abstained")
    }
    let isFirst = state.withLock { state in
      state.mute = state.mute.filter { $0.value > .now }
      defer { state.mute[one.host] = .now + Self.muteSpan }
      return state.mute.isEmpty
    }
    if isFirst {
      ServiceLog.notice(
        "\(absence): what Roster= does not have, and does not answer, is not asked for a minute")
    }
  }

  private func cutOff(_ token: String, _ why: String) { update(token) { $0.isCutOff(why) } }

  /// Vetoes all open questions, because a lost message may have been a veto.
  func cutOff(_ why: String) {
    for token in state.withLock({ Array($0.open.keys) }) { cutOff(token, why) }
  }

  func hear(_ host: String) { state.withLock { $0.heardAt[host] = .now } }

  /// Gives hosts of the roster time to announce themselves: they may reconnect later than this host.
  func beginHearing() { state.withLock { $0.hearsSince = .now } }

  private func mayReturn(_ host: String) -> Bool {
    let lastHeard = state.withLock { max($0.hearsSince, $0.heardAt[host] ?? $0.hearsSince) }
    return .now - lastHeard < Neighbours.silenceMax
  }

  /// - Parameter why: why replies cannot arrive; nil if they can.
  func refuse(_ why: String?) { state.withLock { $0.refusal = why } }

  private func cancel(_ token: String) {
    let cancelled = state.withLock { state -> Open? in
      guard let one = state.open.removeValue(forKey: token) else { return nil }
      state.weight -= one.message.weight
      return one
    }
    guard let cancelled else { return }
    publishCancel(cancelled)
    cancelled.continuation.resume(returning: .failed("cancelled"))
  }

  /// Tells the host that the question has ended. A host that misses this message ends the question at the
  /// question's deadline, or when this gateway is gone.
  private func publishCancel(_ one: Open) {
    let headers = one.message.headers.filter { [.instance, .query].contains($0.key) }
    _ = publisher.publish(ClusterMessage(subjects.cancel(at: one.host), headers: headers))
  }

  func receive(_ message: ClusterMessage, from host: String, token: String) throws(EnvelopeError) {
    guard state.withLock({ $0.open[token]?.host == host }) else { return }
    if message.isNoResponders {
      let mayReturn = mayReturn(host)
      return update(token) { $0.isUnheard(mayReturn: mayReturn) }
    }
    let reply = try ReplyEnvelope(message)
    update(token) { $0.reply(reply, payload: message.payload, at: .now) }
  }
}

/// Notifications for askers whose questions were vetoed because a host was unreachable. When the host is
/// back, these notifications make the askers ask again.
nonisolated struct Unheard {
  static let namesMax = 256

  private var announcements: Set<String> = []

  mutating func add(_ name: String) {
    guard announcements.count < Self.namesMax, let may = NameSyntax.may(forQuestion: name) else { return }
    announcements.insert(may)
  }

  /// Returns and forgets the names of the notifications. They have no object, so they concern every object.
  mutating func take() -> [String] {
    defer { announcements = [] }
    return announcements.sorted()
  }
}
