// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneWire

/// The questions of other hosts, which this host's bus is asked.
final class RemoteQuestions {
  static let perHostMax = 64
  static let hostsMax = 64
  private static let weightMax = 64 << 20

  private struct Key: Hashable {
    var host: String
    var instance: Instance
    var query: UInt64
  }

  /// A question that this host's bus decides now.
  struct UnderWay {
    var host: String
    var name: String
    var object: String
    var asker: RemotePeer
    var began: ContinuousClock.Instant
  }

  private struct Running {
    var task: Task<Void, Never>
    var weight: Int
    var question: UnderWay
  }

  private let subjects: Subjects
  private let host: String
  private let patterns: [Pattern]
  private let link: NATSLink
  private let own: OwnBus
  private let doubt: () -> String?
  private var running: [Key: Running] = [:]

  /// - Parameter doubt: why this host's answers cannot be believed; nil if they can.
  init(
    _ subjects: Subjects, _ settings: NATSSettings, own: OwnBus, link: NATSLink,
    doubt: @escaping () -> String?
  ) {
    self.subjects = subjects
    host = settings.host
    patterns = settings.questions.map(\.pattern)
    self.own = own
    self.link = link
    self.doubt = doubt
  }

  func receive(_ message: ClusterMessage, from other: String, name: String) throws(EnvelopeError) {
    guard subjects.isReply(message.reply, to: other) else {
      throw EnvelopeError(message: "has a reply subject of another host")
    }
    let envelope = try AskEnvelope(message)
    let key = Key(host: other, instance: envelope.instance, query: envelope.query)
    // It was asked again, because it seemed that nobody had received it.
    guard running[key] == nil else { return }
    guard isAnswered(name, wantsValue: envelope.wantsValue) else {
      return reply(.failed("\(host) does not answer \(name) to other hosts"), to: message)
    }
    let count = running.keys.count { $0.host == other }
    let weight = running.values.reduce(message.weight) { $0 + $1.weight }
    guard count < Self.perHostMax, running.count < Self.perHostMax * Self.hostsMax, weight <= Self.weightMax
    else {
      return reply(.failed("\(host) answers too many questions of \(other) already"), to: message)
    }
    let request = OwnBus.Request(
      name: name, object: envelope.object, userInfo: UserInfo(message.payload),
      wantsValue: envelope.wantsValue, isDryRun: envelope.isDryRun, timeout: envelope.timeout,
      patterns: patterns)
    let task = Task {
      let (answer, value) = await own.decide(request) { [weak self] in self?.reply($0, to: message) }
      // Nobody waits for the answer to a question that was cancelled.
      if running.removeValue(forKey: key) != nil { reply(answer, to: message, value) }
    }
    let question = UnderWay(
      host: other, name: name, object: envelope.object, asker: envelope.peer, began: .now)
    running[key] = Running(task: task, weight: message.weight, question: question)
  }

  /// What only gateways answer does not cross a second time.
  private func isAnswered(_ name: String, wantsValue: Bool) -> Bool {
    switch GatewayName(name) {
    case .report: wantsValue
    case .cluster, .host, .lease: false
    case nil: patterns.contains { $0.matches(name.utf8Bytes) }
    }
  }

  private func reply(_ reply: ReplyEnvelope, to question: ClusterMessage, _ value: [UInt8] = []) {
    let reply = doubt().map { ReplyEnvelope.failed($0) } ?? reply
    var message = ClusterMessage(question.reply, headers: reply.headers, payload: value)
    if message.weight > link.payloadMax {
      message = ClusterMessage(
        question.reply, headers: ReplyEnvelope.failed("the value is longer than NATS takes").headers)
    }
    // An answer that is not sent is no answer: the asker counts this host as missing.
    _ = link.publish(message)
  }

  /// The oldest first.
  var underWay: [UnderWay] { running.values.map(\.question).sorted { $0.began < $1.began } }

  // MARK: What ends them

  func cancel(_ message: ClusterMessage, from other: String) throws(EnvelopeError) {
    end(Key(host: other, instance: try message.instance(), query: try message.query()))
  }

  /// Ends questions older than `age` whose asker's gateway is gone, or was started anew.
  func endAll(unless isPresent: (_ host: String, _ instance: Instance) -> Bool, olderThan age: Duration) {
    let now = ContinuousClock.now
    for (key, one) in running where now - one.question.began > age && !isPresent(key.host, key.instance) {
      end(key)
    }
  }

  private func end(_ key: Key) { running.removeValue(forKey: key)?.task.cancel() }
}
