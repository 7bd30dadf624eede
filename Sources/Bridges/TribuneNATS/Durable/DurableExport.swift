// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// Stores durable notifications in JetStream, one at a time. Each one waits until JetStream has confirmed the
/// previous one, so a repeated message cannot overtake another. Further notifications wait in this process,
/// then on the bus, which counts the notifications that it drops.
final class DurableExport {
  private struct Unstored {
    var message: ClusterMessage
    var sentAt: ContinuousClock.Instant?
    /// Resumes `store` with the reason of a final failure, or with nil once the message is stored.
    let conclude: CheckedContinuation<String?, Never>
  }

  /// JetStream's error code for a message that is too long for the stream.
  private static let tooLong = 10_054
  private static let answerMax = Duration.seconds(5)
  static let refusalPause = Duration.seconds(1)

  private let subjects: Subjects
  private let settings: NATSSettings
  private let stream: DurableStream
  private let publisher: Publisher
  private let posts: PostExchange
  private let refusalChanged: () -> Void

  /// After each gap of unknown size, a new counter replaces this one.
  private var counter = ExportCounter()
  private var unstored: Unstored?
  private let tokens = StoreTokens(.durable)
  private var lastToken: UInt64 = 0
  private(set) var isOpen = false
  private(set) var refusal: String? {
    didSet { if refusal != oldValue { refusalChanged() } }
  }

  init(
    _ subjects: Subjects, _ settings: NATSSettings, _ stream: DurableStream, publisher: Publisher,
    posts: PostExchange, refusalChanged: @escaping () -> Void
  ) {
    (self.subjects, self.settings, self.stream) = (subjects, settings, stream)
    (self.publisher, self.posts, self.refusalChanged) = (publisher, posts, refusalChanged)
  }

  func export(_ notifications: Notifications) async throws(TribuneError) {
    counter = ExportCounter()
    for try await delivery in notifications {
      switch delivery {
      case .notification(let notification): await export(notification)
      case .lost(let count):
        posts.lose(UInt64(clamping: count), from: settings.host)
        counter.skip(UInt64(clamping: count))
      case .interrupted:
        posts.lose(nil, from: settings.host)
        counter = ExportCounter()
      }
    }
  }

  private func export(_ notification: Notification) async {
    let name = notification.name
    if settings.isShared(name) {
      notification.acknowledgement?.failed("it is under [Retain], and so it is not durable")
      return
    }
    guard LoopRule.isKnown(notification.poster) else {
      counter.skip(1)
      return drop(notification, "its poster is not known")
    }
    guard LoopRule.allows(poster: notification.poster) else {
      notification.acknowledgement?.done()
      return
    }
    let number = counter.next(name)
    let envelope = PostEnvelope(
      instance: counter.instance, number: number, object: notification.object,
      peer: RemotePeer(notification.poster))
    var headers = envelope.headers
    headers[.messageID] = "\(counter.instance.text)-\(number.sequence)"
    headers[.expectedStream] = stream.name
    let failure = await store(
      ClusterMessage(subjects.durable(name), headers: headers, payload: notification.userInfo.bytes))
    if let failure {
      drop(notification, failure)
    } else {
      notification.acknowledgement?.done()
    }
  }

  private func drop(_ notification: Notification, _ why: String) {
    posts.complain(notification.name, "was not sent: \(why)")
    posts.lose(1, from: settings.host)
    notification.acknowledgement?.failed(why)
  }

  /// - Returns: the reason of a final failure; nil once the message is stored.
  private func store(_ message: ClusterMessage) async -> String? {
    await withCheckedContinuation { continuation in
      lastToken += 1
      var message = message
      message.reply = subjects.stored(token: tokens.token(lastToken))
      unstored = Unstored(message: message, sentAt: nil, conclude: continuation)
      publish()
    }
  }

  func open() {
    isOpen = true
    publish()
  }

  func close() { isOpen = false }

  /// Sends the message again after a refusal, or if the confirmation is late.
  func publishAgain(at now: ContinuousClock.Instant) {
    guard let sentAt = unstored?.sentAt else { return }
    if now - sentAt > (refusal == nil ? Self.answerMax : Self.refusalPause) { publish() }
  }

  private func publish() {
    guard isOpen, let message = unstored?.message else { return }
    guard message.weight <= publisher.payloadMax else {
      return conclude("it is too long for NATS, which takes \(publisher.payloadMax) bytes with headers")
    }
    unstored?.sentAt = .now
    // If the publisher drops the message, `publishAgain` sends it later.
    _ = publisher.publish(message)
  }

  private func conclude(_ failure: String?) {
    guard let unstored else { return }
    self.unstored = nil
    refusal = nil
    unstored.conclude.resume(returning: failure)
  }

  func acknowledge(_ message: ClusterMessage, token: String) throws(EnvelopeError) -> Bool {
    guard let number = tokens.number(of: token) else { return false }
    guard number == lastToken, unstored != nil else { return true }
    if message.isNoResponders {
      isOpen = false
      refusal = "NATS has no JetStream, or no stream \(stream.name)"
      return true
    }
    switch try StoreReply(message.payload) {
    case .stored: conclude(nil)
    case .refused(Self.tooLong, _): conclude("it is longer than the stream \(stream.name) takes")
    case .refused(let code, let why): refusal = "JetStream refuses them: \(why) (\(code))"
    }
    return true
  }
}
