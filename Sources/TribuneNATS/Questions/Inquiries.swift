// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

/// The questions of this host's bus that are asked of other hosts.
final class Inquiries {
  private static let weightMax = 64 << 20

  private final class Open {
    let host: String
    let name: String
    let query: UInt64
    let message: ClusterMessage
    var inquiry: Inquiry
    let extend: (Duration, String) -> Void
    var continuation: CheckedContinuation<Answer, Never>?

    init(
      _ host: String, _ name: String, _ query: UInt64, _ message: ClusterMessage, _ inquiry: Inquiry,
      _ extend: @escaping (Duration, String) -> Void
    ) {
      (self.host, self.name, self.query, self.message) = (host, name, query, message)
      (self.inquiry, self.extend) = (inquiry, extend)
    }
  }

  private let subjects: Subjects
  private let instance: Instance
  private let link: NATSLink
  private var lastQuery: UInt64 = 0
  /// By their tokens, which nobody can guess.
  private var open: [String: Open] = [:]
  private var weight = 0
  /// Wakes when the first question may be due. Most have their answers long before, so that a timer for each would cost
  /// more than all else here.
  private var alarm: (due: ContinuousClock.Instant, task: Task<Void, Never>)?
  var unheard = Unheard()

  init(_ subjects: Subjects, _ instance: Instance, link: NATSLink) {
    (self.subjects, self.instance, self.link) = (subjects, instance, link)
  }

  /// Asks a host, and returns its answer, or what it counts as that there is none. If the task is cancelled, the host
  /// learns that.
  ///
  /// - Parameters:
  ///   - name: the one under which the host is asked.
  ///   - userInfo: what it learns.
  func ask(
    _ host: String, missing: MissingHost, _ question: Question, as name: String, _ userInfo: UserInfo
  ) async -> Answer {
    if let lack = link.lack {
      unheard.note(name)
      return .veto("cluster unreachable: \(lack)")
    }
    let token = Instance().text
    lastQuery += 1
    let envelope = AskEnvelope(
      instance: instance, query: lastQuery, object: question.object, wantsValue: question.wantsValue,
      isDryRun: question.isDryRun, timeout: question.timeout, peer: RemotePeer(question.asker))
    var message = ClusterMessage(
      subjects.ask(host, name), headers: envelope.headers, payload: userInfo.bytes)
    message.reply = subjects.reply(of: host, token: token)
    guard message.weight <= link.payloadMax else {
      return .failed("the userInfo is longer than NATS takes (\(link.payloadMax) bytes with its headers)")
    }
    guard weight + message.weight <= Self.weightMax else {
      return .failed("too many questions to the cluster are under way")
    }
    let inquiry = Inquiry(host, missing: missing, timeout: question.timeout, at: .now)
    let one = Open(host, name, lastQuery, message, inquiry) { span, status in
      Task { await question.extend(by: span, status) }
    }
    open[token] = one
    weight += message.weight
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        one.continuation = continuation
        if Task.isCancelled { return cancel(token) }
        publish(one, token)
        setAlarm(for: one.inquiry.due)
      }
    } onCancel: {
      Task { @MainActor in cancel(token) }
    }
  }

  private func publish(_ one: Open, _ token: String) {
    let isSent = link.publish(one.message) { [weak self] in
      Task { @MainActor in self?.cutOff(token) }
    }
    if !isSent { cutOff(token) }
  }

  private func cutOff(_ token: String) {
    guard let one = open[token] else { return }
    carryOut(one.inquiry.isCutOff(), token)
  }

  private func setAlarm(for due: ContinuousClock.Instant) {
    if let alarm, alarm.due <= due { return }
    alarm?.task.cancel()
    let task = Task {
      await rest(for: max(.milliseconds(1), due - .now))
      if !Task.isCancelled { sound() }
    }
    alarm = (due, task)
  }

  private func sound() {
    alarm = nil
    for (token, one) in open { carryOut(one.inquiry.isDue(at: .now), token) }
    if let next = open.values.map(\.inquiry.due).min() { setAlarm(for: next) }
  }

  private func carryOut(_ action: Inquiry.Action, _ token: String) {
    guard let one = open[token] else { return }
    switch action {
    case .none: return
    case .extend(let span, let status): one.extend(span, status)
    case .prove(let span):
      one.extend(span, "\(one.host) does not answer")
      Task {
        let isThere = await link.isThere()
        guard let one = open[token] else { return }
        carryOut(one.inquiry.isProven(isThere), token)
      }
    case .askAgain(let pause):
      Task {
        await rest(for: pause)
        if open[token] != nil { publish(one, token) }
      }
    case .conclude(let answer):
      if let absence = one.inquiry.absence {
        unheard.note(one.name)
        sendCancel(one)
        if answer == .abstain {
          ServiceLog.notice("\(one.name): \(absence), which counts as if it abstained")
        }
      }
      end(token, with: answer)
    }
  }

  private func end(_ token: String, with answer: Answer) {
    guard let one = open.removeValue(forKey: token) else { return }
    weight -= one.message.weight
    one.continuation?.resume(returning: answer)
    one.continuation = nil
  }

  /// The bus does not want the answer any more.
  private func cancel(_ token: String) {
    guard let one = open[token] else { return }
    sendCancel(one)
    end(token, with: .failed("cancelled"))
  }

  /// A host that does not hear of it sees that by the presence of this one, or answers in vain.
  private func sendCancel(_ one: Open) {
    _ = link.publish(
      ClusterMessage(
        subjects.cancel(at: one.host), headers: [.instance: instance.text, .query: "\(one.query)"]))
  }

  // MARK: What comes in

  func receive(_ message: ClusterMessage, from host: String, token: String) throws(EnvelopeError) {
    guard let one = open[token], one.host == host else { return }
    if message.isNoResponders { return carryOut(one.inquiry.isUnheard(), token) }
    let reply = try ReplyEnvelope(message)
    carryOut(one.inquiry.reply(reply, payload: message.payload, at: .now), token)
  }

  /// The connection to NATS is lost, or something that came over it, which may have been a veto.
  func cutOff() {
    for token in Array(open.keys) { cutOff(token) }
  }
}
