// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Takes durable notifications out to a stream of JetStream, and brings those of other hosts in: at least once, in order.
///
/// Both ways, one follows the other. The next one goes out once JetStream has the one before; what is sent again can so
/// overtake nothing, and what waits is in the queue of the bus's observation, which is bounded and counts what it drops.
/// The next one comes in once this host has acknowledged the one before.
final class DurableExchange {
  private struct Unstored {
    var message: ClusterMessage
    var sentAt: ContinuousClock.Instant?
    /// Gets why it will never be stored; nil once it is.
    let conclude: CheckedContinuation<String?, Never>
  }

  /// JetStream's answer if a message is longer than its stream takes.
  private static let tooLong = 10_054
  private static let answerMax = Duration.seconds(5)
  private static let refusalPause = Duration.seconds(1)
  /// How often the stream and the consumer are looked for while all is well: somebody may have removed them.
  private static let lookPause = Duration.seconds(10)

  private let subjects: Subjects
  private let settings: NATSSettings
  private let stream: DurableStream
  private let publisher: Publisher
  private let posts: PostExchange
  private let changed: () -> Void
  private let queue = DispatchQueue(label: "tribune-nats.durable")

  /// Another one after each gap of unknown size: that is how other hosts learn of it.
  private var instance = Instance()
  private var counter = ExportCounter()
  private var unstored: Unstored?
  private let tokens = StoreTokens(.durable)
  private var lastToken: UInt64 = 0

  private var account = DurableAccount()
  /// Whether it says something of the consumer that is there. Without one, this host has imported nothing yet.
  private var hasAccount = false
  private let accountPath: String?
  /// What its file has.
  private var storedAccount: DurableAccount?
  private var isAccountStored = true
  private var isImporting = false
  private var waitingForBus: CheckedContinuation<Connection, Never>?
  /// Where the message is acknowledged that is being posted.
  private var underWay: String?

  private var isOpen = false
  private var isOpening = false
  private var lookedAt: ContinuousClock.Instant?
  /// Whether the last look has failed.
  private var hasFailed = false
  /// What the journal has about the stream. There are few such texts.
  private var warned: Set<String> = []
  private var openingLack: String?
  private var storingLack: String?
  /// The host that keeps most of the stream while that has no space.
  private var slowest: String?

  /// Nil while there is no bus.
  var bus: Connection? {
    didSet {
      guard let bus else { return }
      waitingForBus?.resume(returning: bus)
      waitingForBus = nil
    }
  }

  /// - Parameter changed: called when `lack` has changed.
  init(
    _ subjects: Subjects, _ settings: NATSSettings, publisher: Publisher, posts: PostExchange,
    changed: @escaping () -> Void
  ) {
    (self.subjects, self.settings, self.publisher, self.posts) = (subjects, settings, publisher, posts)
    self.changed = changed
    stream = DurableStream(settings, subjects)
    accountPath = DurableAccount.path(cluster: settings.cluster)
    guard let accountPath, let account = DurableAccount.load(from: accountPath) else { return }
    (self.account, storedAccount, hasAccount) = (account, account, true)
  }

  // MARK: JetStream

  private var isUsed: Bool { settings.hasDurableExports || settings.hasDurableImports }

  /// What keeps durable notifications waiting, besides a link that is down.
  var lack: String? {
    openingLack
      ?? storingLack.map { why in slowest.map { "\(why); \($0) has read least of the stream" } ?? why }
  }

  /// Says of the stream what is wrong, once.
  private func warn(_ what: String) {
    if warned.insert(what).inserted { ServiceLog.warning("\(stream.name) \(what)") }
  }

  private func note(_ change: () -> Void) {
    let former = lack
    change()
    guard lack != former else { return }
    if let lack {
      ServiceLog.warning("durable notifications wait: \(lack)")
    } else {
      ServiceLog.info("durable notifications wait no longer")
    }
    changed()
  }

  func linkChanged(isUp: Bool) {
    isOpen = false
    if isUp { open() }
  }

  /// Opens what there is to be in JetStream, and makes what is not there.
  private func open() {
    guard !isOpening, let client = publisher.client else { return }
    guard isUsed else { return lookForConsumer(client) }
    isOpening = true
    Task {
      let result = await result(of: client)
      isOpening = false
      lookedAt = .now
      guard client === publisher.client else { return }
      switch result {
      case .success(let opening):
        hasFailed = false
        use(opening)
      case .failure(let failure):
        // What is open may go on. It may have been slow once: the next look is soon.
        if hasFailed || !isOpen { note { openingLack = failure.message } }
        hasFailed = true
      }
    }
  }

  private func result(of client: NATSClient) async -> Result<DurableStore.Opening, DurableStore.Failure> {
    await withCheckedContinuation { continuation in
      let account = hasAccount ? account : nil
      let needsSpace = storingLack != nil
      queue.async { [stream, needsConsumer = settings.hasDurableImports] in
        do throws(DurableStore.Failure) {
          let store = try DurableStore(client, stream)
          continuation.resume(
            returning: .success(
              try store.open(needsConsumer: needsConsumer, after: account, needsSpace: needsSpace)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
  }

  /// Nothing durable is exported or imported. What this host once imported may still be kept for it.
  private func lookForConsumer(_ client: NATSClient) {
    guard hasAccount else { return }
    queue.async { [stream] in
      do throws(DurableStore.Failure) {
        guard try DurableStore(client, stream).hasConsumer() else { return }
        ServiceLog.warning("\(stream.name) \(stream.unneededConsumer)")
      } catch {
        ServiceLog.warning(error.message)
      }
    }
  }

  private func use(_ opening: DurableStore.Opening) {
    isOpen = true
    note { (openingLack, slowest) = (nil, storingLack == nil ? nil : opening.slowest) }
    for warning in opening.warnings { warn(warning) }
    if let consumer = opening.consumer { use(consumer, of: opening.created) }
    send()
  }

  private func use(_ consumer: DurableStore.Consumer, of created: Int64) {
    let isSameStream = account.position?.created == created
    var hasLost = false
    if hasAccount, consumer.isMade {
      ServiceLog.warning("the consumer \(stream.consumer) of \(stream.name) was removed, and is made again")
      // Of the same stream, the numbers of what comes next show what is missing.
      hasLost = !isSameStream
    } else if !hasAccount, !consumer.isMade {
      ServiceLog.warning("nobody knows which durable notifications have come in: no file has said so")
      hasLost = true
    }
    if hasLost { lose(nil, from: nil) }
    if consumer.isMade || !isSameStream {
      account.position = DurableAccount.Position(created: created, sequence: consumer.acknowledged)
      // What is lost is announced, and what is being posted has come, before a file says so.
      if !hasLost, underWay == nil { storeAccount() }
    }
    hasAccount = true
    if !isImporting { ServiceLog.info("durable notifications come in from \(stream.name)") }
    isImporting = true
  }

  /// Does what is due; called every few seconds.
  func tick() {
    // Otherwise, JetStream delivers it again every few seconds.
    if let underWay { _ = publisher.publish(ClusterMessage(underWay, payload: Array("+WPI".utf8))) }
    guard let lookedAt else { return }
    let now = ContinuousClock.now
    let isWell = isOpen && lack == nil && !hasFailed
    if now - lookedAt > (isWell ? Self.lookPause : Self.refusalPause) { open() }
    guard let sentAt = unstored?.sentAt else { return }
    if now - sentAt > (storingLack == nil ? Self.answerMax : Self.refusalPause) { send() }
  }

  private func lose(_ count: UInt64?, from host: String?) { posts.lose(count, from: host) }

  // MARK: Out

  /// Exports what an observation brings, to its end.
  func export(_ notifications: Notifications) async throws(TribuneError) {
    beginAnew()
    for try await delivery in notifications {
      switch delivery {
      case .notification(let notification): await export(notification)
      case .lost(let count):
        lose(UInt64(clamping: count), from: settings.host)
        counter.skip(UInt64(clamping: count))
      case .interrupted:
        lose(nil, from: settings.host)
        beginAnew()
      }
    }
  }

  private func beginAnew() { (instance, counter) = (Instance(), ExportCounter()) }

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
      instance: instance, number: number, object: notification.object,
      peer: RemotePeer(notification.poster))
    var headers = envelope.headers
    headers[.messageID] = "\(instance.text)-\(number.sequence)"
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
    lose(1, from: settings.host)
    notification.acknowledgement?.failed(why)
  }

  /// - Returns: why it will never be stored; nil once it is.
  private func store(_ message: ClusterMessage) async -> String? {
    await withCheckedContinuation { continuation in
      lastToken += 1
      var message = message
      message.reply = subjects.stored(token: tokens.token(lastToken))
      unstored = Unstored(message: message, sentAt: nil, conclude: continuation)
      send()
    }
  }

  private func send() {
    guard isOpen, let message = unstored?.message else { return }
    guard message.weight <= publisher.payloadMax else {
      return conclude("it is too long for NATS, which takes \(publisher.payloadMax) bytes with headers")
    }
    unstored?.sentAt = .now
    // What is dropped here is sent again like what JetStream does not answer.
    _ = publisher.publish(message)
  }

  private func conclude(_ failure: String?) {
    guard let unstored else { return }
    self.unstored = nil
    note { (storingLack, slowest) = (nil, nil) }
    unstored.conclude.resume(returning: failure)
  }

  /// JetStream has answered.
  ///
  /// - Returns: false if the answer is not about a durable notification.
  func acknowledge(_ message: ClusterMessage, token: String) throws(EnvelopeError) -> Bool {
    guard let number = tokens.number(of: token) else { return false }
    guard number == lastToken, unstored != nil else { return true }
    if message.isNoResponders {
      isOpen = false
      note { storingLack = "NATS has no JetStream, or no stream \(stream.name)" }
      return true
    }
    switch try StoreReply(message.payload) {
    case .stored: conclude(nil)
    case .refused(Self.tooLong, _): conclude("it is longer than the stream \(stream.name) takes")
    case .refused(let code, let why): note { storingLack = "JetStream refuses them: \(why) (\(code))" }
    }
    return true
  }

  // MARK: In

  /// A message of the stream. JetStream sends the next one when this returns.
  func receive(_ message: ClusterMessage) async throws(EnvelopeError) {
    guard let subject = AckSubject(message.reply), subject.stream == stream.name,
      subject.consumer == stream.consumer
    else { return }
    let position = account.position.map {
      DurableAccount.Position(created: $0.created, sequence: subject.sequence)
    }
    // Also what cannot be used is acknowledged, or it would come again and again, and nothing behind it ever.
    defer { acknowledge(message, at: position) }
    underWay = message.reply
    if try await take(message) { await announceLosses() }
  }

  /// - Returns: whether something is missing before it.
  private func take(_ message: ClusterMessage) async throws(EnvelopeError) -> Bool {
    guard case .durable(let host, let name)? = subjects.parse(message.subject),
      settings.imports.contains(where: { $0.isDurable && $0.takes(from: host) })
    else { return false }
    let envelope = try PostEnvelope(message)
    let arrival = account.note(envelope.number.sequence, from: host, envelope.instance)
    switch arrival {
    case .stale: return false
    case .new(let lost): if lost > 0 { lose(lost, from: host) }
    case .newAfterGap: lose(nil, from: host)
    }
    if settings.imports(name, from: host, durably: true), !settings.isShared(name) {
      posts.note(envelope.peer, of: name, from: host)
      await post(name, envelope.object, UserInfo(message.payload), from: host)
    }
    return arrival != .new(lost: 0)
  }

  /// Once the message behind a gap is acknowledged, nothing shows the gap again.
  private func announceLosses() async {
    while await !posts.announce() {
      _ = await currentBus()
      await rest(for: .milliseconds(100))
    }
  }

  /// - Parameter position: of the message, in the stream that it was from when it came.
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

  /// Posts on this host's bus, once there is one. What the bus refuses is lost: what comes behind it must not wait for a
  /// change of the policy.
  private func post(_ name: String, _ object: String, _ userInfo: UserInfo, from host: String) async {
    var retries = PostRetries()
    while true {
      let bus = await currentBus()
      do throws(TribuneError) {
        return try await bus.postAcknowledged(name, object: object, userInfo: userInfo)
      } catch {
        guard let pause = retries.pause(after: error.code, at: .now) else {
          posts.complain(name, "of \(host) was not posted: \(error)")
          return lose(1, from: host)
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
