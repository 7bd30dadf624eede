// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneWire

/// Shares retained notifications through a JetStream bucket, which has one value for each name and object.
/// The gateway sends a value of this bus again until the bucket delivers this value or a newer one.
final class RetainedExchange {
  private struct Sent {
    var token: UInt64
    var at: ContinuousClock.Instant
    var isAgain: Bool
  }

  private let subjects: Subjects
  private let settings: NATSSettings
  private let bucket: Bucket
  private let instance: Instance
  private let publisher: Publisher
  private let complain: (_ name: String, _ what: String) -> Void
  private let hearAgain: () -> Void
  private var ledger = RetainedLedger()
  private var sent: [RetainedKey: Sent] = [:]
  private let storeTokens = StoreTokens(.retained)
  private var lastToken: UInt64 = 0
  /// The connection, its observation, and how many of the observation's retained notifications the gateway
  /// has read.
  private var reading: (bus: Connection, notifications: Notifications, retainedCount: Int)?
  private var isInterrupted = false
  /// Nil until the gateway has read all retained notifications. Before that, the gateway must not post values
  /// from the bucket: they could replace newer ones on the bus.
  private var bus: Connection?

  init(
    _ subjects: Subjects, _ settings: NATSSettings, _ instance: Instance, publisher: Publisher,
    complain: @escaping (_ name: String, _ what: String) -> Void, hearAgain: @escaping () -> Void
  ) {
    (self.subjects, self.settings, self.instance, self.publisher) = (subjects, settings, instance, publisher)
    (self.complain, self.hearAgain) = (complain, hearAgain)
    bucket = Bucket(cluster: settings.cluster)
  }

  /// Stops posting values from the bucket until the gateway has read the bus's retained notifications again.
  func busChanged(isInterrupted: Bool) {
    (bus, self.isInterrupted) = (nil, isInterrupted)
    ledger.restart()
    importIfRead()
  }

  private func importIfRead() {
    guard bus == nil, !isInterrupted, let reading,
      reading.retainedCount >= reading.notifications.retainedCount
    else { return }
    bus = reading.bus
    hearAgain()
  }

  // MARK: Out

  /// Returns true after a loss of notifications. The caller must then observe again.
  func export(_ notifications: Notifications, from bus: Connection) async throws(TribuneError) -> Bool {
    reading = (bus, notifications, 0)
    ledger.restart()
    defer { if reading?.bus === bus { (reading, self.bus) = (nil, nil) } }
    importIfRead()
    for try await delivery in notifications {
      switch delivery {
      case .notification(let notification):
        export(notification)
        if notification.isRetained { reading?.retainedCount += 1 }
        importIfRead()
      case .lost: return true
      // The bus delivers the retained notifications again.
      case .interrupted: ledger.restart()
      }
    }
    return false
  }

  private func export(_ notification: Notification) {
    guard LoopRule.isKnown(notification.poster) else {
      return complain(notification.name, LoopRule.unknownPoster)
    }
    let isPosted = LoopRule.isOwn(notification.poster)
    guard isPosted || LoopRule.allows(poster: notification.poster) else { return }
    let key = RetainedKey(name: notification.name, object: notification.object)
    switch ledger.read(
      key, notification.userInfo.bytes, isPosted: isPosted, isOld: notification.isRetained)
    {
    case .store: publish(key)
    case .full: complain(key.name, "is not shared: there are too many values, or too many wait for JetStream")
    case .none, .post: return
    }
  }

  private func publish(_ key: RetainedKey, again: Bool = false) {
    guard let write = ledger.write(of: key) else {
      sent[key] = nil
      return
    }
    var headers: [ClusterMessage.Header: String] = [
      .instance: instance.text, .host: settings.host, .expectedRevision: "\(write.expected)",
    ]
    if write.payload.isEmpty { headers[.operation] = "DEL" }
    lastToken += 1
    var message = ClusterMessage(bucket.subject(key), headers: headers, payload: write.payload)
    message.reply = subjects.stored(token: storeTokens.token(lastToken))
    guard !publisher.isUp || message.weight <= publisher.payloadMax else {
      ledger.giveUp(key)
      return complain(
        key.name, "is too long for NATS, which takes \(publisher.payloadMax) bytes, and was not shared")
    }
    // If the publisher drops the message, `tick` sends it later.
    _ = publisher.publish(message)
    sent[key] = Sent(token: lastToken, at: .now, isAgain: again)
  }

  func tick() {
    // `notifications.retainedCount` counts a notification once for each pattern that it matches. The library
    // subtracts each extra copy when the copy arrives, perhaps after the last check in `export`.
    importIfRead()
    let now = ContinuousClock.now
    for (key, one) in sent where now - one.at > .seconds(5) { publish(key, again: true) }
  }

  func acknowledge(_ message: ClusterMessage, token: String) throws(EnvelopeError) {
    guard let number = storeTokens.number(of: token),
      let (key, one) = sent.first(where: { $0.value.token == number }), ledger.write(of: key) != nil
    else { return }
    if message.isNoResponders {
      return complain(key.name, "is not shared: NATS has no JetStream, or no stream KV_\(bucket.name)")
    }
    switch try StoreReply(message.payload) {
    case .stored: return
    case .refused(let code, _) where StoreReply.conflicts.contains(code):
      // After the first conflict, the bucket delivers the conflicting value. A further conflict means that
      // somebody has removed the conflicting value, or the bucket.
      guard one.isAgain else { return }
      ledger.doubt(key)
      hearAgain()
    case .refused(let code, let why):
      complain(key.name, "is not shared yet: JetStream refuses it: \(why) (\(code))")
    }
  }

  // MARK: In

  func isValue(_ message: ClusterMessage) -> Bool { bucket.key(of: message.subject) != nil }

  func receive(_ message: ClusterMessage) async throws(EnvelopeError) {
    guard let bus, let key = bucket.key(of: message.subject), message.revision > 0 else { return }
    guard settings.isShared(key.name) else { return }
    let holder = message.headers[.host] ?? ""
    guard Subjects.isToken(holder) else { throw EnvelopeError(message: "has no valid Tribune-Host") }
    let payload = message.headers[.operation] == nil ? message.payload : []
    let step = ledger.arrive(
      key, revision: message.revision, payload, isOwn: holder == settings.host)
    if step == .store { publish(key) }
    guard step == .post else { return }
    do throws(TribuneError) {
      try await bus.postAcknowledged(
        key.name, object: key.object, userInfo: UserInfo(payload), options: PostOptions(isRetained: true))
      ledger.posted(key, isRefused: false)
    } catch {
      ledger.posted(key, isRefused: true)
      complain(key.name, "of \(holder) was not posted: \(error)")
    }
  }
}
