// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneWire

/// Shares retained notifications with the cluster through a bucket of JetStream: one value for each name and object.
///
/// What is to be stored is sent until JetStream has said that it has it.
final class RetainedExchange {
  private static let countMax = 1_024
  private static let weightMax = 64 << 20
  /// JetStream's answer if there is a value already, and none was expected.
  private static let wrongSequence = 10_071

  private struct Unstored {
    var message: ClusterMessage
    var token: UInt64
    var sentAt: ContinuousClock.Instant?
  }

  private let subjects: Subjects
  private let settings: NATSSettings
  private let bucket: Bucket
  private let instance: Instance
  private let publisher: Publisher
  private let complain: (_ name: String, _ what: String) -> Void
  private var ledger = RetainedLedger()
  private var unstored: [RetainedKey: Unstored] = [:]
  private var tokens: [UInt64: RetainedKey] = [:]
  private let storeTokens = StoreTokens(.retained)
  private var weight = 0
  private var lastToken: UInt64 = 0
  /// The values that this host had before, where the bucket has one, too, which has not come yet.
  private var contested: [RetainedKey: ClusterMessage] = [:]
  /// What the bus has retained of this host's own processes since before this process began.
  private var local: Set<RetainedKey> = []
  /// Nil while there is no bus. Whenever it is set, the bus may be another one, which has to get everything again.
  var bus: Connection? {
    didSet { (ledger, local) = (RetainedLedger(), []) }
  }

  init(
    _ subjects: Subjects, _ settings: NATSSettings, _ instance: Instance, publisher: Publisher,
    complain: @escaping (_ name: String, _ what: String) -> Void
  ) {
    (self.subjects, self.settings, self.instance, self.publisher) = (subjects, settings, instance, publisher)
    self.complain = complain
    bucket = Bucket(cluster: settings.cluster)
  }

  // MARK: Out

  /// Exports what an observation with retained notifications brings.
  ///
  /// - Parameter afterGap: whether something was lost in the one before, which this one's snapshot has.
  /// - Returns: when something is lost, so that the caller observes again; else at the end.
  func export(_ notifications: Notifications, afterGap: Bool) async throws(TribuneError) -> Bool {
    for try await delivery in notifications {
      switch delivery {
      case .notification(let notification): export(notification, isNew: afterGap || !notification.isRetained)
      case .lost: return true
      // The snapshot comes again.
      case .interrupted: continue
      }
    }
    return false
  }

  /// - Parameter isNew: whether it was posted since this program observes.
  private func export(_ notification: Notification, isNew: Bool) {
    guard LoopRule.isKnown(notification.poster) else {
      return complain(notification.name, LoopRule.unknownPoster)
    }
    guard LoopRule.allows(poster: notification.poster) else { return }
    let key = RetainedKey(name: notification.name, object: notification.object)
    var headers: [ClusterMessage.Header: String] = [.instance: instance.text, .host: settings.host]
    if notification.userInfo.isEmpty { headers[.operation] = "DEL" }
    if !isNew {
      // Nobody knows whether it is older than what the cluster has. A value of this host's own is older.
      local.insert(key)
      if ledger.holder(of: key) != settings.host { headers[.expectedRevision] = "0" }
    }
    store(
      key,
      ClusterMessage(bucket.subject(key), headers: headers, payload: notification.userInfo.bytes))
  }

  private func store(_ key: RetainedKey, _ message: ClusterMessage) {
    forget(key)
    guard unstored.count < Self.countMax, weight + message.weight <= Self.weightMax else {
      return complain(key.name, "was not shared: too many values wait for JetStream")
    }
    weight += message.weight
    lastToken += 1
    unstored[key] = Unstored(message: message, token: lastToken)
    tokens[lastToken] = key
    ledger.send(key)
    send(key)
  }

  private func forget(_ key: RetainedKey) {
    guard let old = unstored.removeValue(forKey: key) else { return }
    weight -= old.message.weight
    tokens[old.token] = nil
  }

  private func send(_ key: RetainedKey) {
    guard var one = unstored[key] else { return }
    guard !publisher.isUp || one.message.weight <= publisher.payloadMax else {
      forget(key)
      return complain(
        key.name, "is too long for NATS, which takes \(publisher.payloadMax) bytes, and was not shared")
    }
    one.message.reply = subjects.stored(token: storeTokens.token(one.token))
    // What is dropped here is sent again like what JetStream does not acknowledge.
    _ = publisher.publish(one.message)
    one.sentAt = .now
    unstored[key] = one
  }

  /// Sends what JetStream has not acknowledged for some seconds.
  func sendAgain() {
    let now = ContinuousClock.now
    for (key, one) in unstored where one.sentAt.map({ now - $0 > .seconds(5) }) ?? true { send(key) }
  }

  func acknowledge(_ message: ClusterMessage, token: String) throws(EnvelopeError) {
    guard let number = storeTokens.number(of: token), let key = tokens[number], let one = unstored[key] else {
      return
    }
    if message.isNoResponders {
      return complain(key.name, "is not shared: NATS has no JetStream, or no stream KV_\(bucket.name)")
    }
    switch try StoreReply(message.payload) {
    case .stored: forget(key)
    case .refused(Self.wrongSequence, _):
      forget(key)
      contest(key, one.message)
    case .refused(let code, let why):
      complain(key.name, "is not shared yet: JetStream refuses it: \(why) (\(code))")
    }
  }

  /// The bucket has a value where this host had one before.
  private func contest(_ key: RetainedKey, _ message: ClusterMessage) {
    switch ledger.holder(of: key) {
    case settings.host: storeAnyway(key, message)
    case nil:
      let weight = contested.values.reduce(message.weight) { $0 + $1.weight }
      if contested.count < Self.countMax, weight <= Self.weightMax { contested[key] = message }
    default: return
    }
  }

  private func storeAnyway(_ key: RetainedKey, _ message: ClusterMessage) {
    var message = message
    message.headers[.expectedRevision] = nil
    store(key, message)
  }

  // MARK: In

  func isValue(_ message: ClusterMessage) -> Bool { bucket.key(of: message.subject) != nil }

  func receive(_ message: ClusterMessage) async throws(EnvelopeError) {
    guard let key = bucket.key(of: message.subject), message.revision > 0 else { return }
    guard settings.retained.contains(where: { $0.matches(key.name.utf8Bytes) }) else { return }
    let sender = try message.instance()
    let holder = message.headers[.host] ?? ""
    guard Subjects.isToken(holder) else { throw EnvelopeError(message: "has no valid Tribune-Host") }
    let isNews = ledger.arrive(
      key, revision: message.revision, holder: holder, isOwn: sender == instance)
    let former = contested.removeValue(forKey: key)
    if holder == settings.host, sender != instance {
      // What this host has now is newer than what it has sent before.
      if let former { return storeAnyway(key, former) }
      if local.contains(key) { return }
    }
    guard isNews, let bus else { return }
    let isDeleted = message.headers[.operation] != nil
    do throws(TribuneError) {
      try await bus.postAcknowledged(
        key.name, object: key.object, userInfo: isDeleted ? .none : UserInfo(message.payload),
        options: PostOptions(isRetained: true))
    } catch {
      complain(key.name, "of \(holder) was not posted: \(error)")
    }
  }
}
