// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneSystem

/// A client of the bus that maintains the picture of the bus and the pages' feed.
final class BusFollower {
  /// Notifications of changed holds, delegates or policy. After each one, the follower reads the lists again
  /// if a page or Prometheus needs them (`isLookedAt`).
  private static let changes = ["tribune.hold.*", "tribune.delegate.*", "tribune.bus.didReload"]
  private static let arrivals = ["tribune.connection.*"]
  private static let beatSeconds = 5
  private static let listSeconds = (watched: 5, else: 30)
  /// How long the follower keeps the lists fresh after an HTTP request. Prometheus usually asks more often.
  private static let lookSeconds = 300
  private static let listWait = Duration.seconds(1)
  /// If the bus does not reply for this time, the page shows the bus as not answering.
  private static let silenceMax = Duration.seconds(10)
  private static let leaveMax = Duration.seconds(5)

  private(set) var picture = BusPicture()
  private(set) var counters = BusCounters()
  private(set) var feed = Feed()
  private(set) var own = BusMetrics.Own()
  private let settings: WebSettings
  private let isWatched: () -> Bool
  private let changed: () -> Void
  private var history = History()
  /// The processes by connection. Departed connections stay here, because a later verdict may name one.
  private var peers = RecentValues<String, Who>(countMax: QueryTracker.recentMax)
  /// Verdicts that the page does not show yet, because their asker, or an earlier verdict's asker, is
  /// unknown. Another task learns the askers from the bus's announcements of connections.
  private var unnamed: [VerdictRecord] = []
  /// How many verdicts in `unnamed` the next tick of `keepTime` shows, even if their askers are unknown.
  private var overdue = 0
  private var bus: Connection?
  private var secondsSinceList = 0
  private var secondsSinceLook = lookSeconds
  private var statusRequest: ContinuousClock.Instant?
  private lazy var polling = Refresh { [weak self] in await self?.poll() ?? true }
  private lazy var listing = Refresh { [weak self] in await self?.list() ?? true }

  /// - Parameter isWatched: returns true while a page is open. An open page needs fresh lists.
  init(_ settings: WebSettings, isWatched: @escaping () -> Bool, changed: @escaping () -> Void) {
    (self.settings, self.isWatched, self.changed) = (settings, isWatched, changed)
    publish()
  }

  private var isLookedAt: Bool { isWatched() || secondsSinceLook < Self.lookSeconds }

  func markLookedAt() {
    let isNew = !isLookedAt
    secondsSinceLook = 0
    guard isNew, bus != nil else { return }
    polling.request()
    listing.request()
  }

  /// Calls `markLookedAt`. If the lists are not fresh yet, waits until they are, for at most `listWait`.
  func look() async {
    let isNew = !isLookedAt
    markLookedAt()
    guard isNew else { return }
    let end = ContinuousClock.now.advanced(by: Self.listWait)
    while bus != nil, secondsSinceList > 0, ContinuousClock.now < end { await rest(for: .milliseconds(10)) }
  }

  private static var seconds: Int { Int(SystemClock.wallMicroseconds / 1_000_000) }

  func run(_ attempted: () -> Void) async {
    Task { await keepTime() }
    var retries = Retries(longest: .seconds(1))
    while true {
      do throws(TribuneError) {
        // The library must not reconnect: this loop must learn at once that the bus is lost.
        let bus = try await Connection.connect(reconnectingFor: .zero)
        try await follow(bus, attempted)
        retries.reset()
        lose(await bus.closed())
      } catch {
        lose(error)
      }
      attempted()
      await retries.pause()
    }
  }

  private func follow(_ bus: Connection, _ attempted: () -> Void) async throws(TribuneError) {
    var gaps: [String] = []
    let traffic = try await Self.allowed("see verdicts", &gaps) { () async throws(TribuneError) in
      settings.patterns.isEmpty ? nil : try await bus.monitor(settings.patterns)
    }
    let changes = try await Self.allowed("see holds and delegates come and go", &gaps) {
      () async throws(TribuneError) in try await bus.observe(anyOf: Self.changes)
    }
    let arrivals = try await Self.allowed("see who connects", &gaps) { () async throws(TribuneError) in
      try await bus.observe(anyOf: Self.arrivals)
    }
    let status = try await bus.status()
    self.bus = bus
    picture.gaps = gaps
    update(with: status)
    ServiceLog.info("connected to the bus")
    for gap in gaps { ServiceLog.warning(gap) }
    listing.request()
    attempted()
    if let traffic { Task.detached { [settings] in await self.read(traffic, settings) } }
    if let changes { Task { await read(changes, as: bus) } }
    if let arrivals { Task { await read(arrivals, as: bus) } }
  }

  /// Runs `body`. If the policy refuses the request, adds a text to `gaps` and returns nil.
  private static func allowed<Value>(
    _ what: String, _ gaps: inout [String], _ body: () async throws(TribuneError) -> Value?
  ) async throws(TribuneError) -> Value? {
    do throws(TribuneError) {
      return try await body()
    } catch  where error.code == .notPermitted {
      gaps.append("the policy of the bus does not let this program \(what): \(error.message)")
      return nil
    }
  }

  private func lose(_ error: TribuneError?) {
    let reason = error?.message ?? "the connection has ended"
    if picture.absence != reason { ServiceLog.warning("not connected to the bus: \(reason)") }
    if bus != nil { own.busLosses += 1 }
    bus = nil
    statusRequest = nil
    history.interrupt()
    picture.lose(reason)
    publish()
  }

  // MARK: Frames

  /// Reads frames outside the main queue. The main queue gets only the verdicts, which are few.
  nonisolated private func read(_ traffic: Traffic, _ settings: WebSettings) async {
    var tracker = QueryTracker(keepingUserInfo: settings.showsUserInfo)
    do throws(TribuneError) {
      for try await delivery in traffic {
        switch delivery {
        case .item(let item): if let record = tracker.take(item) { await add(record) }
        case .lost(let count): await addMissed(count)
        case .interrupted: continue
        }
      }
    } catch {
      // `run` handles the end of the connection.
      return
    }
  }

  private func add(_ record: VerdictRecord) {
    unnamed.append(record)
    showNamed()
    if unnamed.count > QueryTracker.recentMax { showFirst() }
  }

  private func showNamed() {
    while let record = unnamed.first, record.asker.pid != nil || peers[record.asker.connection] != nil {
      showFirst()
    }
  }

  private func showOverdue() {
    for _ in 0..<overdue { showFirst() }
    overdue = unnamed.count
  }

  private func showFirst() {
    show(unnamed.removeFirst())
    overdue = max(0, overdue - 1)
  }

  private func show(_ record: VerdictRecord) {
    var record = record
    if record.asker.pid == nil, let who = peers[record.asker.connection] { record.asker = who }
    if !record.verdict.isDryRun { count(record) }
    feed.addVerdict(record.json(showingUserInfo: settings.showsUserInfo).compactBytes)
    changed()
  }

  private func count(_ record: VerdictRecord) {
    own.verdictsSeen += 1
    guard let elapsed = record.elapsed else { return }
    own.record(latency: elapsed)
    history.record(latency: elapsed, at: Self.seconds)
  }

  private func addMissed(_ count: Int) {
    own.framesMissed += count
    publishBus()
  }

  private func read(_ notifications: Notifications, as bus: Connection) async {
    do throws(TribuneError) {
      for try await delivery in notifications {
        if case .notification(let notification) = delivery, let who = Who(notification.userInfo) {
          peers.set(who, for: who.connection)
          showNamed()
        }
        if isLookedAt { listing.request() }
      }
    } catch {
      // `run` handles the end of the connection.
      return
    }
  }

  // MARK: Requests

  private func keepTime() async {
    var beat = 0
    while true {
      await rest(for: .seconds(1))
      showOverdue()
      beat = (beat + 1) % Self.beatSeconds
      if beat == 0 {
        feed.tick()
        changed()
      }
      guard bus != nil else { continue }
      if let statusRequest, statusRequest.duration(to: .now) > Self.silenceMax { markSilent() }
      secondsSinceLook = min(secondsSinceLook + 1, Self.lookSeconds)
      secondsSinceList += 1
      let isLookedAt = isLookedAt
      // A new page plots the last hour, so each interval needs the status, even while no page is open.
      if isLookedAt || Self.seconds % History.secondsPerInterval == 0 { polling.request() }
      if isLookedAt, secondsSinceList >= (isWatched() ? Self.listSeconds.watched : Self.listSeconds.else) {
        listing.request()
      }
    }
  }

  private func markSilent() {
    guard picture.isConnected else { return }
    picture.absence = "it does not answer"
    ServiceLog.warning("the bus does not answer")
    publishBus()
  }

  private func poll() async -> Bool {
    guard let bus else { return true }
    let began = ContinuousClock.now
    statusRequest = began
    do throws(TribuneError) {
      var now = try await BusSnapshot(of: bus)
      guard bus === self.bus else { return true }
      statusRequest = nil
      update(with: now.status)
      if isWatched() {
        try await now.read(now.status.queries > 0 ? [.queries] : [], from: bus)
        guard bus === self.bus else { return true }
        picture.queries = now.queries
        publishQueries()
      }
    } catch {
      // `run` handles the end of the connection.
      return true
    }
    await leaveTime(since: began)
    return true
  }

  /// Pauses for nine times the request's duration, because large lists keep the bus from other work.
  private func leaveTime(since began: ContinuousClock.Instant) async {
    await rest(for: min(began.duration(to: .now) * 9, Self.leaveMax))
  }

  private func update(with status: BusStatus) {
    picture.absence = nil
    picture.status = status
    if counters.update(with: status, at: SystemClock.wallMicroseconds), isLookedAt { listing.request() }
    history.record(status, at: Self.seconds)
    if feed.set(.history, history.json(at: Self.seconds).compactBytes) { changed() }
    publishBus()
  }

  private func list() async -> Bool {
    guard let bus else { return true }
    let began = ContinuousClock.now
    do throws(TribuneError) {
      let now = try await BusSnapshot(
        of: bus, .connections, .delegates, .holds, .names, .participants, .users)
      guard bus === self.bus else { return true }
      (picture.connections, picture.delegates, picture.holds) = (now.connections, now.delegates, now.holds)
      counters.update(with: now, max: settings.metricNamesMax)
    } catch {
      // `run` handles the end of the connection.
      return true
    }
    secondsSinceList = 0
    for connection in picture.connections { peers.set(Who(connection), for: connection.id) }
    publish()
    await leaveTime(since: began)
    return true
  }

  private func publish() {
    let now = SystemClock.wallMicroseconds
    publishQueries()
    feed.set(.holds, picture.holdsJSON(at: now))
    feed.set(.delegates, picture.delegatesJSON)
    feed.set(.connections, picture.connectionsJSON(at: now))
    publishBus()
  }

  private func publishQueries() {
    if feed.set(.queries, picture.queriesJSON(at: SystemClock.wallMicroseconds)) { changed() }
  }

  private func publishBus() {
    let json = picture.busJSON(at: SystemClock.wallMicroseconds, verdictsLost: own.framesMissed)
    feed.set(.bus, json.compactBytes)
    changed()
  }
}
