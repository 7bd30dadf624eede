// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Posts the messages of the durable stream on the bus one at a time, and acknowledges each one.
final class DurableImport {
  private let subjects: Subjects
  private let settings: NATSSettings
  private let stream: DurableStream
  private let publisher: Publisher
  private let posts: PostExchange

  private var account = DurableAccount()
  /// True if it is known what has arrived: this process has loaded the account from its file, or has opened a
  /// consumer.
  private(set) var hasAccount = false
  private let accountPath: String?
  private var storedAccount: DurableAccount?
  private var isAccountStored = true
  private var isImporting = false
  private var waitingForBus: CheckedContinuation<Connection, Never>?
  private var underWay: String?

  var bus: Connection? {
    didSet {
      guard let bus else { return }
      waitingForBus?.resume(returning: bus)
      waitingForBus = nil
    }
  }

  init(
    _ subjects: Subjects, _ settings: NATSSettings, _ stream: DurableStream, publisher: Publisher,
    posts: PostExchange
  ) {
    (self.subjects, self.settings, self.stream) = (subjects, settings, stream)
    (self.publisher, self.posts) = (publisher, posts)
    accountPath = DurableAccount.path(cluster: settings.cluster)
    guard let accountPath, let account = DurableAccount.load(from: accountPath) else { return }
    (self.account, storedAccount, hasAccount) = (account, account, true)
  }

  /// The account, which tells where a new consumer begins (`DurableAccount.start`). Nil if `hasAccount` is
  /// false: a new consumer then begins with new messages.
  var knownAccount: DurableAccount? { hasAccount ? account : nil }

  func use(_ consumer: DurableStore.Consumer, of created: Int64) {
    let isSameStream = account.position?.created == created
    var hasLost = false
    if hasAccount, consumer.isMade {
      ServiceLog.warning("the consumer \(stream.consumer) of \(stream.name) was removed, and is made again")
      // In the same stream, the new consumer continues after the account's `position`, so gaps in the
      // senders' numbers will show a loss. In another stream, the loss must be reported now.
      hasLost = !isSameStream
    } else if !hasAccount, !consumer.isMade {
      ServiceLog.warning("nobody knows which durable notifications have come in: no file has said so")
      hasLost = true
    }
    if hasLost { posts.lose(nil, from: nil) }
    if consumer.isMade || !isSameStream {
      account.position = DurableAccount.Position(created: created, sequence: consumer.acknowledged)
      // If this process is killed, the next one relies on the file. So the file must not count a message that
      // is still being posted: its redelivery would be dropped as stale. Nor may the file hide a loss that is
      // not announced yet. In both cases, `acknowledge` writes the account later.
      if !hasLost, underWay == nil { storeAccount() }
    }
    hasAccount = true
    if !isImporting { ServiceLog.info("durable notifications come in from \(stream.name)") }
    isImporting = true
  }

  /// Tells JetStream that this host still handles the message. Otherwise, JetStream would deliver it again.
  func keepWaiting() {
    if let underWay { _ = publisher.publish(ClusterMessage(underWay, payload: Array("+WPI".utf8))) }
  }

  func receive(_ message: ClusterMessage) async throws(EnvelopeError) {
    guard let subject = AckSubject(message.reply), subject.stream == stream.name,
      subject.consumer == stream.consumer
    else { return }
    let position = account.position.map {
      DurableAccount.Position(created: $0.created, sequence: subject.sequence)
    }
    // Acknowledges even an unusable message. Otherwise, JetStream would deliver it again and again, and hold
    // back later messages.
    defer { acknowledge(message, at: position) }
    underWay = message.reply
    if try await take(message) { await announceLosses() }
  }

  private func take(_ message: ClusterMessage) async throws(EnvelopeError) -> Bool {
    guard case .durable(let host, let name)? = subjects.parse(message.subject),
      settings.imports.contains(where: { $0.isDurable && $0.takes(from: host) })
    else { return false }
    let envelope = try PostEnvelope(message)
    let arrival = account.record(envelope.number.sequence, from: host, envelope.instance)
    switch arrival {
    case .stale: return false
    case .new(let lost): if lost > 0 { posts.lose(lost, from: host) }
    case .newAfterGap: posts.lose(nil, from: host)
    }
    if settings.imports(name, from: host, durably: true), !settings.isShared(name) {
      posts.record(envelope.peer, of: name, from: host)
      await post(name, envelope.object, UserInfo(message.payload), from: host)
    }
    return arrival != .new(lost: 0)
  }

  /// Returns once the losses are announced. The caller acknowledges the message only then.
  private func announceLosses() async {
    while await !posts.announce() {
      _ = await currentBus()
      await rest(for: .milliseconds(100))
    }
  }

  /// - Parameter position: the message's place in its stream; nil if unknown. Another stream may have
  ///   replaced that stream since.
  private func acknowledge(_ message: ClusterMessage, at position: DurableAccount.Position?) {
    if let position, position.created == account.position?.created { account.position = position }
    storeAccount()
    underWay = nil
    _ = publisher.publish(ClusterMessage(message.reply, payload: Array("+ACK".utf8)))
  }

  private func storeAccount() {
    guard let accountPath, account != storedAccount else { return }
    do throws(Errno) {
      try account.store(to: accountPath)
      storedAccount = account
      isAccountStored = true
    } catch {
      if isAccountStored { ServiceLog.warning("cannot write \(accountPath): \(error)") }
      isAccountStored = false
    }
  }

  /// Posts a notification, and waits while the bus is absent. A refused notification is lost, because later
  /// ones must not wait for a change of the policy.
  private func post(_ name: String, _ object: String, _ userInfo: UserInfo, from host: String) async {
    var retries = PostRetries()
    while true {
      let bus = await currentBus()
      do throws(TribuneError) {
        return try await bus.postAcknowledged(name, object: object, userInfo: userInfo)
      } catch {
        guard let pause = retries.pause(after: error.code, at: .now) else {
          posts.complain(name, "of \(host) was not posted: \(error)")
          return posts.lose(1, from: host)
        }
        await rest(for: pause)
      }
    }
  }

  private func currentBus() async -> Connection {
    if let bus { return bus }
    return await withCheckedContinuation { waitingForBus = $0 }
  }
}

/// Decides whether to retry a failed post.
nonisolated struct PostRetries: Sendable {
  /// After these errors, the gateway posts again, although the notification may have arrived.
  private static let passing: Set<TribuneError.Code> = [
    .connectionLost, .shuttingDown, .tooSlow, .unreachable,
  ]
  /// How long the gateway retries a post that exceeds a limit of the bus. Meanwhile, later posts wait.
  private static let fullMax = Duration.seconds(30)

  private var fullSince: ContinuousClock.Instant?

  static func isPassing(_ code: TribuneError.Code) -> Bool { passing.contains(code) }

  /// The pause before the next attempt; nil if the notification is lost.
  mutating func pause(after code: TribuneError.Code, at now: ContinuousClock.Instant) -> Duration? {
    // If the connection was lost, the gateway notices that within this pause.
    if Self.isPassing(code) { return .milliseconds(100) }
    guard code == .limitExceeded else { return nil }
    let since = fullSince ?? now
    fullSince = since
    return now - since < Self.fullMax ? .seconds(1) : nil
  }
}
