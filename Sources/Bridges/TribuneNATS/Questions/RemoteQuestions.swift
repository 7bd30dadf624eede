// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneWire

/// Other hosts' questions to this bus. The receiving thread handles each event.
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
    /// Nil while it starts.
    var task: Task<Void, Never>?
    var weight: Int
    var question: UnderWay
  }

  private let subjects: Subjects
  private let host: String
  private let patterns: [Pattern]
  private let publisher: Publisher
  private let own: OwnBus
  private let double: DoubledHost
  private let rosters: RosterCheck
  private let running = Mutex<[Key: Running]>([:])

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
    switch begin(key, Running(weight: message.weight, question: question)) {
    // The asker sent the question again, because its first try seemed undelivered.
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
      let (answer, value) = await own.decide(request) { [self] in reply($0, to: message) }
      let doubt = answer.isObjection ? nil : await double.knownDoubt()
      // A cancelled question needs no answer.
      if running.withLock({ $0.removeValue(forKey: key) }) != nil {
        reply(doubt.map { .failed($0) } ?? answer, to: message, value)
      }
    }
    let isOver = running.withLock { running in
      running[key]?.task = task
      return running[key] == nil
    }
    if isOver { task.cancel() }
  }

  private enum Beginning {
    case begins, isRunning, isTooMuch
  }

  private func begin(_ key: Key, _ one: Running) -> Beginning {
    running.withLock { running in
      guard running[key] == nil else { return .isRunning }
      let count = running.keys.count { $0.host == key.host }
      let weight = running.values.reduce(one.weight) { $0 + $1.weight }
      guard count < Self.perHostMax, running.count < Self.perHostMax * Self.hostsMax,
        weight <= Self.weightMax
      else { return .isTooMuch }
      running[key] = one
      return .begins
    }
  }

  /// Gateway-only names do not cross a second time.
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
    // If the reply is dropped, the asker treats this host as missing.
    _ = publisher.publish(message)
  }

  var underWay: [UnderWay] {
    running.withLock { $0.values.map(\.question) }.sorted { $0.began < $1.began }
  }

  // MARK: Endings

  func cancel(_ message: ClusterMessage, from other: String) throws(EnvelopeError) {
    end(Key(host: other, instance: try message.instance(), query: try message.query()))
  }

  /// Ends the questions whose gateways have gone or restarted.
  func endAll(unless isPresent: (_ host: String, _ instance: Instance) -> Bool, olderThan age: Duration) {
    let old = running.withLock { $0.filter { ContinuousClock.now - $0.value.question.began > age } }
    for key in old.keys where !isPresent(key.host, key.instance) { end(key) }
  }

  private func end(_ key: Key) {
    running.withLock { $0.removeValue(forKey: key) }?.task?.cancel()
  }
}
