// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneWire

/// Other hosts' questions to this bus. The thread that receives a message also handles it.
nonisolated final class RemoteQuestions: Sendable {
  static let perHostMax = 64
  static let hostsMax = 64
  private static let weightMax = 64 << 20

  private struct Key: Hashable {
    var host: String
    var instance: Instance
    var query: UInt64
  }

  struct UnderWay {
    var host: String
    var name: String
    var object: String
    var asker: RemotePeer
    var began: ContinuousClock.Instant
  }

  private struct Running {
    /// Nil while the task starts.
    var task: Task<Void, Never>?
    let message: ClusterMessage
    let question: UnderWay
    /// By this time, the bus should have answered or reported progress.
    var due: ContinuousClock.Instant
  }

  private struct State {
    var running: [Key: Running] = [:]
    var alarm = Alarm()
  }

  private let subjects: Subjects
  private let host: String
  private let patterns: [Pattern]
  private let publisher: Publisher
  private let own: OwnBus
  private let double: DoubledHost
  private let rosters: RosterCheck
  private let state = Mutex(State())

  init(
    _ subjects: Subjects, _ settings: NATSSettings, own: OwnBus, publisher: Publisher, double: DoubledHost,
    rosters: RosterCheck
  ) {
    self.subjects = subjects
    host = settings.host
    patterns = settings.questions.map(\.pattern)
    self.own = own
    self.publisher = publisher
    self.double = double
    self.rosters = rosters
  }

  func receive(_ message: ClusterMessage, from other: String, name: String) throws(EnvelopeError) {
    guard subjects.isReply(message.reply, to: other) else {
      throw EnvelopeError(message: "has a reply subject of another host")
    }
    let envelope = try AskEnvelope(message)
    let key = Key(host: other, instance: envelope.instance, query: envelope.query)
    guard isAnswered(name, wantsValue: envelope.wantsValue) else {
      return reply(.failed("\(host) does not answer \(name) to other hosts"), to: message)
    }
    if !envelope.wantsValue, let doubt = rosters.doubt(about: other, with: envelope.rosterMark) {
      return reply(.veto(doubt), to: message)
    }
    let question = UnderWay(
      host: other, name: name, object: envelope.object, asker: envelope.peer, began: .now)
    let due = ContinuousClock.now + Inquiry.patience(within: envelope.timeout)
    switch begin(key, Running(message: message, question: question, due: due)) {
    // The asker sends a question again if the first message seems undelivered.
    case .isRunning: return
    case .isTooMuch:
      return reply(.failed("\(host) answers too many questions of \(other) already"), to: message)
    case .begins: break
    }
    let request = OwnBus.Request(
      name: name, object: envelope.object, userInfo: UserInfo(message.payload),
      wantsValue: envelope.wantsValue, isDryRun: envelope.isDryRun, timeout: envelope.timeout,
      patterns: patterns)
    let task = Task.immediate(executorPreference: own.executor) {
      let (answer, value) = await own.decide(request) { [self] in report($0, to: key) }
      let doubt = answer.isObjection ? nil : await double.knownDoubt()
      // A question that was cancelled, or that `sound` has answered, needs no answer.
      if state.withLock({ $0.running.removeValue(forKey: key) }) != nil {
        reply(doubt.map { .failed($0) } ?? answer, to: message, value)
      }
    }
    let isOver = state.withLock { state in
      state.running[key]?.task = task
      return state.running[key] == nil
    }
    if isOver { task.cancel() }
  }

  private enum Beginning {
    case begins, isRunning, isTooMuch
  }

  private func begin(_ key: Key, _ one: Running) -> Beginning {
    state.withLock { state in
      guard state.running[key] == nil else { return .isRunning }
      let count = state.running.keys.count { $0.host == key.host }
      let weight = state.running.values.reduce(one.message.weight) { $0 + $1.message.weight }
      guard count < Self.perHostMax, state.running.count < Self.perHostMax * Self.hostsMax,
        weight <= Self.weightMax
      else { return .isTooMuch }
      state.running[key] = one
      state.alarm.set(for: one.due) { self.sound() }
      return .begins
    }
  }

  /// Reports progress to the asking host. This gateway waits a little longer than the delegate's timeout, and
  /// the asking host waits a little longer than this gateway.
  private func report(_ progress: ReplyEnvelope, to key: Key) {
    guard case .progress(let span, let status) = progress else { return }
    let message = state.withLock { state -> ClusterMessage? in
      guard let due = state.running[key]?.due else { return nil }
      state.running[key]?.due = max(due, .now + span + Inquiry.margin)
      return state.running[key]?.message
    }
    guard let message else { return }
    reply(.progress(timeout: span + Inquiry.margin * 2, status: status), to: message)
  }

  /// Answers the questions that are past `due` with a failure. Otherwise, a hung bus would make this host
  /// count as missing, and a missing host need not veto (`OnMissingHost=abstain`).
  private func sound() {
    let late = state.withLock { state -> [Running] in
      state.alarm.stop()
      let late = state.running.filter { $0.value.due <= .now }
      for key in late.keys { state.running[key] = nil }
      if let next = state.running.values.map(\.due).min() { state.alarm.set(for: next) { self.sound() } }
      return Array(late.values)
    }
    for one in late {
      one.task?.cancel()
      reply(.failed("the bus of \(host) does not answer"), to: one.message)
    }
  }

  /// True if other hosts may ask the name. Of the `GatewayName`s, they may ask only reports (`HostReport`).
  private func isAnswered(_ name: String, wantsValue: Bool) -> Bool {
    switch GatewayName(name) {
    case .report: wantsValue
    case .cluster, .host, .lease: false
    case nil: patterns.contains { $0.matches(name.utf8Bytes) }
    }
  }

  private func reply(_ reply: ReplyEnvelope, to question: ClusterMessage, _ value: [UInt8] = []) {
    var message = ClusterMessage(question.reply, headers: reply.headers, payload: value)
    if message.weight > publisher.payloadMax {
      message = ClusterMessage(
        question.reply, headers: ReplyEnvelope.failed("the value is longer than NATS takes").headers)
    }
    // If the publisher drops the reply, the asker treats this host as missing.
    _ = publisher.publish(message)
  }

  var underWay: [UnderWay] {
    state.withLock { $0.running.values.map(\.question) }.sorted { $0.began < $1.began }
  }

  // MARK: Endings

  func cancel(_ message: ClusterMessage, from other: String) throws(EnvelopeError) {
    end(Key(host: other, instance: try message.instance(), query: try message.query()))
  }

  /// Ends questions older than `age` whose asking gateways have gone or restarted.
  func endAll(unless isPresent: (_ host: String, _ instance: Instance) -> Bool, olderThan age: Duration) {
    let old = state.withLock { $0.running.filter { ContinuousClock.now - $0.value.question.began > age } }
    for key in old.keys where !isPresent(key.host, key.instance) { end(key) }
  }

  private func end(_ key: Key) {
    state.withLock { $0.running.removeValue(forKey: key) }?.task?.cancel()
  }
}
