// SPDX-License-Identifier: Apache-2.0

import CNats
import Dispatch
import TribuneService

/// The link to NATS. It reconnects, and checks that the server responds. Blocking calls run on queues.
final class NATSLink {
  enum Lost {
    case posts, others, any
  }

  enum Change {
    case connecting
    case up
    case down
    case overrun(Lost)
    /// The server denies a publication or subscription.
    case refused(String)
  }

  private static let probePause = Duration.seconds(1)
  /// Without a pong for this time, the link counts as lost, whatever libnats reports.
  private static let silenceMax = Duration.seconds(5)
  private static let silence = "NATS does not answer"

  private let settings: NATSSettings
  private let publisher: Publisher
  private let posts: [String]
  private let durable: [String]
  private let others: [String]
  private let bucket: Bucket
  private let receivesPost: @MainActor (ClusterMessage) async -> Void
  private let receivesDurable: @MainActor (ClusterMessage) async -> Void
  private let receivesOther: (ClusterMessage) -> Void
  private let receivesAtOnce: @Sendable (ClusterMessage) -> Bool
  private let changed: (Change) -> Void
  private let connector = DispatchQueue(label: "tribune-nats.connector")
  private let watcher = DispatchQueue(label: "tribune-nats.watcher")

  private lazy var postLane = Lane { [weak self] in self?.drainPosts() }
  private lazy var durableLane = Lane { [weak self] in self?.drainDurable() }
  private lazy var otherLane = Lane { [weak self] in self?.drainOthers() }
  private lazy var receiver = NATSReceiver(
    posts: postLane, durable: durableLane, others: otherLane, atOnce: receivesAtOnce
  ) { [weak self] event, connection in
    self?.handle(event, of: connection)
  }
  private var client: NATSClient?
  private var draining: Task<Void, Never>?
  private var drainingDurable: Task<Void, Never>?
  private var closing: CheckedContinuation<Void, Never>?
  private var watching: Task<Void, Never>?
  /// When the last answered ping was sent, or the last connection was made; nil before the first connection.
  private var provenAt: ContinuousClock.Instant?

  var lack: String? { publisher.lack }

  var isUp: Bool { lack == nil }

  /// - Parameters:
  ///   - posts: subjects whose messages are handled in order.
  ///   - durable: subjects whose messages are handled in order, independently of `posts`.
  ///   - others: subjects whose messages are handled without waiting for earlier ones.
  ///   - receivesAtOnce: called for each message of `others`, on libnats's thread. If it returns false, the
  ///     main actor handles the message.
  init(
    _ settings: NATSSettings, _ publisher: Publisher, posts: [String], durable: [String], others: [String],
    receivesPost: @escaping @MainActor (ClusterMessage) async -> Void,
    receivesDurable: @escaping @MainActor (ClusterMessage) async -> Void,
    receivesOther: @escaping (ClusterMessage) -> Void,
    receivesAtOnce: @escaping @Sendable (ClusterMessage) -> Bool, changed: @escaping (Change) -> Void
  ) {
    self.settings = settings
    self.publisher = publisher
    self.posts = posts
    self.durable = durable
    self.others = others
    bucket = Bucket(cluster: settings.cluster)
    self.receivesPost = receivesPost
    self.receivesDurable = receivesDurable
    self.receivesOther = receivesOther
    self.receivesAtOnce = receivesAtOnce
    self.changed = changed
  }

  func follow(_ attempted: () -> Void) async {
    Task { await probe() }
    var retries = Retries()
    while true {
      do throws(NATSError) {
        changed(.connecting)
        let client = try await connect()
        self.client = client
        retries.reset()
        provenAt = .now
        ServiceLog.info("connected to NATS at \(client.serverURL)")
        become(nil)
        attempted()
        // If the connection has closed already, libnats reports no further event, so waiting would never end.
        if !client.isClosed { await withCheckedContinuation { closing = $0 } }
        throw NATSError(NATS_CONNECTION_CLOSED, "libnats has given up")
      } catch {
        if client != nil || retries.isFirst { ServiceLog.warning("not connected to NATS: \(error)") }
        become("\(error)")
      }
      drop(client)
      client = nil
      attempted()
      await retries.pause()
    }
  }

  private func connect() async throws(NATSError) -> NATSClient {
    try await connector.result { [settings, posts, durable, others, receiver] () throws(NATSError) in
      try NATSClient(settings, posts: posts, durable: durable, others: others, to: receiver)
    }.get()
  }

  /// Closing a connection may block, so `connector` releases `client`.
  private func drop(_ client: NATSClient?) { connector.async { withExtendedLifetime(client) {} } }

  private func become(_ lack: String?) {
    guard lack != self.lack else { return }
    let wasUp = isUp
    publisher.use(lack == nil ? client : nil, lack: lack)
    if lack != nil, wasUp { changed(.down) }
    if isUp { changed(.up) }
    if isUp { watchValues() }
  }

  private func handle(_ event: NATSReceiver.Event, of connection: UInt) {
    switch event {
    case .overrun: return changed(.overrun(.any))
    case .refused(let why): return changed(.refused(why))
    case .disconnected, .reconnected, .closed: break
    }
    // Earlier connections and failed attempts also report events, which say nothing about `client`.
    guard let client, client.number == connection else { return }
    switch event {
    case .disconnected:
      ServiceLog.warning("the connection to NATS is lost")
      become("the connection to NATS is lost")
    case .reconnected:
      ServiceLog.info("connected to NATS again")
      provenAt = .now
      become(nil)
    case .closed:
      closing?.resume()
      closing = nil
    case .overrun, .refused: return
    }
  }

  // MARK: Retained values

  func watchValues() {
    watching?.cancel()
    guard !settings.retained.isEmpty else { return }
    let subjects = settings.retained.map { bucket.subjects(matching: $0) }
    watching = Task {
      var isReported = false
      while let client, isUp, !Task.isCancelled {
        let result = await watcher.result { [bucket, settings, receiver] () throws(NATSError) in
          try client.watch(bucket, replicas: settings.replicas, subjects, to: receiver)
        }
        guard case .failure(let error) = result else { return }
        if !isReported { ServiceLog.error("nothing retained is shared: \(error)") }
        isReported = true
        await rest(for: .seconds(5))
      }
    }
  }

  // MARK: Liveness

  private func probe() async {
    while true {
      await rest(for: Self.probePause)
      guard let client else { continue }
      let sent = ContinuousClock.now
      let isAnswered = await publisher.answers(client)
      guard client === self.client else { continue }
      if isAnswered {
        provenAt = max(provenAt ?? sent, sent)
        // If the link still counts as lost, libnats has reconnected, and will report the event `reconnected`.
      } else if isUp, provenAt.map({ ContinuousClock.now - $0 > Self.silenceMax }) ?? true {
        ServiceLog.warning(Self.silence)
        become(Self.silence)
        continue
      }
      if isAnswered, lack == Self.silence {
        ServiceLog.info("NATS answers again")
        become(nil)
      }
    }
  }

  // MARK: In

  private func drainOthers() {
    let batch = otherLane.take()
    for message in batch.messages { receivesOther(message) }
    if batch.dropped > 0 { changed(.overrun(.others)) }
  }

  private func drainPosts() {
    draining = Task { [earlier = draining] in
      await earlier?.value
      let batch = postLane.take()
      for message in batch.messages { await receivesPost(message) }
      if batch.dropped > 0 { changed(.overrun(.posts)) }
    }
  }

  private func drainDurable() {
    drainingDurable = Task { [earlier = drainingDurable] in
      await earlier?.value
      // If the lane dropped messages, JetStream delivers them again.
      for message in durableLane.take().messages { await receivesDurable(message) }
    }
  }
}
