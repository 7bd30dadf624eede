// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Connects this host's bus with the other hosts of its cluster. The bus and NATS can restart at any time.
/// Without NATS, the delegates that stand for other hosts veto. Without the bus, this gateway answers the
/// questions of other hosts with a failure.
final class Gateway {
  private enum Side: CaseIterable {
    case bus, nats
  }

  private let settings: NATSSettings
  private let subjects: Subjects
  private let instance = Instance()
  /// A secret in the userInfo of each question that this gateway asks for a FleetLock client. This gateway's
  /// delegates pass such a question on to the other hosts. This gateway also asks other hosts' questions on
  /// this bus. These lack the secret, so its delegates abstain: otherwise, the questions would return to the
  /// cluster.
  private let mark = Instance()
  private let status: (String) -> Void
  private var neighbours = Neighbours()
  private var bus: Connection? {
    didSet { own.use(answeringBus) }
  }
  private var isInterrupted = false {
    didSet {
      own.use(answeringBus)
      retained.busChanged(isInterrupted: isInterrupted)
    }
  }
  private var answeringBus: Connection? { isInterrupted ? nil : bus }
  private var malformed = 0
  private let publisher = Publisher()
  private let double: DoubledHost
  private let rosters: RosterCheck
  private var speaksForOthers: Bool?

  private lazy var link = NATSLink(
    settings, publisher, posts: settings.imports.map { subjects.posts(matching: $0.pattern) },
    durable: settings.hasDurableImports ? [subjects.deliveries] : [],
    others: [subjects.asks, subjects.cancels, subjects.replies, subjects.presences, subjects.leases]
      + (settings.storesNotifications ? [subjects.allStored] : []),
    receivesPost: { [weak self] in await self?.receivePost($0) },
    receivesDurable: { [weak self] in await self?.receiveDurable($0) },
    receivesOther: { [weak self] in self?.receiveOther($0) }, receivesAtOnce: receivesAtOnce,
    changed: { [weak self] in self?.handle($0) })
  private lazy var exchange = PostExchange(subjects, settings, publisher: publisher)
  private lazy var durable = DurableExchange(subjects, settings, publisher: publisher, posts: exchange) {
    [weak self] in
    self?.updateStatus()
  }
  private var storing: Task<Void, Never>?
  private lazy var retained = RetainedExchange(
    subjects, settings, instance, publisher: publisher,
    complain: { [weak self] in self?.exchange.complain($0, $1) },
    hearAgain: { [weak self] in self?.link.watchValues() })
  private lazy var own: OwnBus = OwnBus(host: settings.host) { [weak self] in
    .init(posters: self?.exchange.posters.all ?? [], questions: self?.remotes.underWay ?? [])
  }
  private lazy var inquiries = Inquiries(
    subjects, instance, rosterMark: rosters.mark, publisher: publisher)
  private lazy var hosts = ClusterHosts(
    settings, inquiries, own: own, mark: mark, double: double, rosters: rosters)
  private lazy var remotes = RemoteQuestions(
    subjects, settings, own: own, publisher: publisher, double: double, rosters: rosters)
  private lazy var leases = Leases(settings, subjects, instance, publisher: publisher, double: double) {
    [weak self] in
    self?.neighbours.isPresent($0) ?? false
  }
  private lazy var fleetLock = FleetLock(settings.fleetLock, mark, leases: leases) { [weak self] in
    self?.answeringBus
  }

  init(_ settings: NATSSettings, status: @escaping (String) -> Void) {
    self.settings = settings
    self.status = status
    subjects = Subjects(cluster: settings.cluster, host: settings.host)
    double = DoubledHost(settings.host)
    rosters = RosterCheck(settings)
  }

  func serve(_ sockets: [(descriptor: CInt, name: String)]) { fleetLock.serve(sockets) }

  /// Returns after the first attempts to connect to the bus and to NATS.
  func start() async {
    let tries = FirstTries<Side>()
    Task { await followBus { tries.finish(.bus) } }
    if let lack = settings.lack {
      ServiceLog.error("no cluster: \(lack)")
      tries.finish(.nats)
    } else {
      Task { await link.follow { tries.finish(.nats) } }
      Task { await keepPresence() }
    }
    await tries.waitForAll()
  }

  // MARK: The bus

  private func followBus(_ attempted: @escaping () -> Void) async {
    var retries = Retries()
    while true {
      do throws(TribuneError) {
        isInterrupted = false
        let bus = try await Connection.connect(identifyingPosters: true) { [weak self] event in
          Task { @MainActor in self?.handle(event) }
        }
        // Attaches the delegates for the other hosts first. They must answer even if a later step fails.
        try await hosts.join(bus)
        (self.bus, exchange.bus, durable.incoming.bus) = (bus, bus, bus)
        retries.reset()
        ServiceLog.info("connected to the bus")
        if link.isUp { announceLink() }
        updateStatus()
        let tries = BusTries()
        Task {
          await tries.waitForAll()
          attempted()
        }
        Task { await takeOut(from: bus, tries) }
        storing = Task { [earlier = storing] in await takeDurableOut(from: bus, after: earlier, tries) }
        Task { await share(with: bus, tries) }
        Task { await leases.serve(bus, tries) }
        Task { await hosts.serveScopes(on: bus, tries) }
        throw await bus.closed() ?? TribuneError(.connectionLost, "the connection has ended")
      } catch {
        if bus != nil || retries.isFirst { ServiceLog.warning("not connected to the bus: \(error)") }
      }
      (bus, exchange.bus, durable.incoming.bus) = (nil, nil, nil)
      hosts.leave()
      leases.leave()
      updateStatus()
      attempted()
      await retries.pause()
    }
  }

  private func handle(_ event: ConnectionEvent) {
    switch event {
    case .disconnected(let error):
      ServiceLog.warning("the connection to the bus is lost: \(error)")
      isInterrupted = true
    case .reconnected:
      ServiceLog.info("connected to the bus again")
      isInterrupted = false
    }
    updateStatus()
  }

  private func takeOut(from bus: Connection, _ tries: BusTries) async {
    defer { tries.finish(.exports) }
    let patterns = settings.exports.filter { !$0.isDurable }.map(\.pattern.text)
    guard settings.lack == nil, !patterns.isEmpty else { return }
    await bus.persist(.exports, tries, lack: "nothing is exported") { () async throws(TribuneError) in
      let notifications = try await bus.observe(anyOf: patterns)
      tries.finish(.exports)
      for try await delivery in notifications { exchange.export(delivery) }
    }
  }

  /// Exports durable notifications. The task `earlier`, which exports from the previous connection, may still
  /// run. The observation is awaited, so posters can wait for JetStream.
  private func takeDurableOut(
    from bus: Connection, after earlier: Task<Void, Never>?, _ tries: BusTries
  ) async {
    defer { tries.finish(.durableExports) }
    let patterns = settings.exports.filter(\.isDurable).map(\.pattern.text)
    guard settings.lack == nil, !patterns.isEmpty else { return }
    if let earlier {
      // Each observation keeps notifications in memory. So that only one does, the next begins after the
      // previous one has ended. The posts in between are missed, which `lose` reports.
      await earlier.value
      exchange.lose(nil, from: settings.host)
    }
    await bus.persist(.durableExports, tries, lack: "nothing durable is exported") {
      () async throws(TribuneError) in
      // While JetStream is slow, the export does not read from its connection. If the export used `bus`, all
      // other work on `bus` would wait, too.
      let exports = try await Connection.connect(identifyingPosters: true)
      let closing = Task {
        _ = await bus.closed()
        await exports.close()
      }
      defer { closing.cancel() }
      let notifications = try await exports.observe(anyOf: patterns, awaited: true)
      tries.finish(.durableExports)
      try await durable.outgoing.export(notifications)
    }
  }

  private func share(with bus: Connection, _ tries: BusTries) async {
    defer { tries.finish(.retained) }
    guard settings.lack == nil, !settings.retained.isEmpty else { return }
    await bus.persist(.retained, tries, lack: "nothing retained is shared") { () async throws(TribuneError) in
      var hasGap = true
      while hasGap {
        let notifications = try await bus.observe(anyOf: settings.retained.map(\.text), retained: true)
        tries.finish(.retained)
        hasGap = try await retained.export(notifications, from: bus)
      }
    }
  }

  // MARK: NATS

  private func handle(_ change: NATSLink.Change) {
    switch change {
    case .connecting: inquiries.refuse(nil)
    case .up:
      double.linkChanged(isUp: true)
      inquiries.beginHearing()
      _ = publisher.publish(presence)
      durable.linkChanged(isUp: true)
      // While the link was down, posts of other hosts were lost.
      if settings.imports.contains(where: { !$0.isDurable }) { exchange.lose(nil, from: nil) }
      announceLink()
      Task { await findOutWhoMaySpeak() }
    case .down:
      double.linkChanged(isUp: false)
      inquiries.cutOff("the connection to NATS was lost")
      durable.linkChanged(isUp: false)
      announce("cluster.link.didDisconnect")
    case .overrun(let lost):
      if lost != .others { exchange.lose(nil, from: nil) }
      if lost != .posts { inquiries.cutOff("messages of NATS were dropped") }
    case .refused(let why):
      if let other = settings.others.first, why.contains("\"\(subjects.reply(as: other))\"") {
        speaksForOthers = false
        break
      }
      ServiceLog.error("NATS: \(why)")
      if subjects.isAboutAllReplies(why) { inquiries.refuse("NATS refuses it: \(why)") }
      if subjects.isAboutQuestions(why) { inquiries.cutOff("NATS refuses it: \(why)") }
    }
    updateStatus()
  }

  /// Tests whether NATS lets this host publish in another host's name.
  private func findOutWhoMaySpeak() async {
    guard speaksForOthers != true else { return }
    speaksForOthers = nil
    guard !settings.questions.isEmpty, let other = settings.others.first,
      publisher.publish(ClusterMessage(subjects.reply(as: other))), await publisher.isThere()
    else { return }
    // A refusal by NATS would arrive on another thread, perhaps a moment later.
    await rest(for: .seconds(1))
    guard speaksForOthers == nil else { return }
    speaksForOthers = true
    ServiceLog.warning(
      "NATS lets this host speak for \(other): without permissions, any client can approve in the name of a host that vetoes"
    )
  }

  private func announceLink() {
    announce("cluster.link.didConnect")
    announceReturn()
  }

  private func announce(_ name: String) {
    guard let bus else { return }
    Task { [settings] in await PostExchange.post(name, settings.cluster, on: bus) }
  }

  /// For each question that was vetoed because a host was unreachable, posts the question's *may*, such as
  /// `host.mayReboot`. An asker that waits for this notification then asks again.
  private func announceReturn() {
    guard let bus else { return }
    let names = inquiries.takeUnheard()
    guard !names.isEmpty else { return }
    Task { for name in names { await PostExchange.post(name, "", on: bus) } }
  }

  private func receivePost(_ message: ClusterMessage) async {
    if retained.isValue(message) {
      do throws(EnvelopeError) {
        try await retained.receive(message)
      } catch {
        drop(message, error)
      }
      return
    }
    guard case .post(let host, let name)? = subjects.parse(message.subject) else { return }
    do throws(EnvelopeError) {
      try await exchange.receive(message, from: host, name: name)
    } catch {
      drop(message, error)
    }
  }

  private func receiveDurable(_ message: ClusterMessage) async {
    do throws(EnvelopeError) {
      try await durable.incoming.receive(message)
    } catch {
      drop(message, error)
    }
  }

  /// Runs on any thread. Returns false if the message is not about a question.
  private lazy var receiveQuestion: @Sendable (ClusterMessage) throws(EnvelopeError) -> Bool = {
    [subjects, remotes, inquiries] message throws(EnvelopeError) in
    switch subjects.parse(message.subject) {
    case .ask(let host, let name): try remotes.receive(message, from: host, name: name)
    case .cancel(let host): try remotes.cancel(message, from: host)
    case .reply(let host, let token): try inquiries.receive(message, from: host, token: token)
    default: return false
    }
    return true
  }

  /// Returns false also for an invalid message. On the main actor, `receiveOther` then logs what is invalid.
  private var receivesAtOnce: @Sendable (ClusterMessage) -> Bool {
    { [receiveQuestion] message in
      do throws(EnvelopeError) { return try receiveQuestion(message) } catch { return false }
    }
  }

  private func receiveOther(_ message: ClusterMessage) {
    do throws(EnvelopeError) {
      if message.subject == subjects.presence { return handleDouble(try message.instance()) }
      switch subjects.parse(message.subject) {
      case .lease(let host, let name): try leases.receive(message, from: host, name: name)
      case .presence(let host):
        let sender = try message.instance()
        let isNew = !neighbours.isPresent(host, sender)
        let isRostered = settings.roster.contains(host)
        if isRostered { inquiries.hear(host) }
        neighbours.remember(
          host, sender, rosterMark: message.headers[.roster] ?? "", isRostered: isRostered, at: .now)
        rosters.update(with: neighbours.others(than: rosters.mark))
        hosts.addUnlisted(host)
        if isNew, neighbours.isPresent(host) { welcome() }
      case .stored(let token):
        if try !durable.outgoing.acknowledge(message, token: token) {
          try retained.acknowledge(message, token: token)
        }
      case .ask, .cancel, .reply: _ = try receiveQuestion(message)
      case .post, .durable, nil: return
      }
    } catch {
      drop(message, error)
    }
  }

  /// Handles a presence message with this host's name. Another instance shows that another gateway sent it.
  /// This gateway's own instance is possible, too: NATS echoes no message to the connection that published
  /// it, but may deliver it to this gateway's next connection.
  private func handleDouble(_ other: Instance) {
    guard other != instance else { return }
    if double.remember(other) { _ = publisher.publish(presence) }
    updateStatus()
  }

  private func welcome() {
    _ = publisher.publish(presence)
    announceReturn()
    updateStatus()
  }

  /// Other hosts can send many invalid messages, so the gateway logs only the 1st, 2nd, 4th, 8th … of them.
  private func drop(_ message: ClusterMessage, _ error: EnvelopeError) {
    malformed += 1
    guard malformed.nonzeroBitCount == 1 else { return }
    ServiceLog.warning(
      "dropped a message at \(message.subject): it \(error.message) (\(malformed.counted("such message")) so far)"
    )
  }

  private var presence: ClusterMessage {
    ClusterMessage(subjects.presence, headers: [.instance: instance.text, .roster: rosters.mark])
  }

  private func keepPresence() async {
    while true {
      _ = publisher.publish(presence)
      await rest(for: Neighbours.interval)
      forgetTheSilent()
    }
  }

  private func forgetTheSilent() {
    let failed = publisher.takeFailedCount()
    if failed > 0 { ServiceLog.warning("NATS did not take \(failed.counted("message"))") }
    retained.tick()
    durable.tick()
    neighbours.forgetSilent(at: .now)
    rosters.update(with: neighbours.others(than: rosters.mark))
    hosts.forget(unless: neighbours.isPresent)
    remotes.endAll(unless: neighbours.isPresent, olderThan: Neighbours.silenceMax)
    updateStatus()
  }

  // MARK: Both

  private var lastStatus = ""

  private func updateStatus() {
    let lack = settings.lack ?? link.lack
    let sides =
      (bus == nil || isInterrupted ? ["no bus"] : []) + (lack.map { ["cluster unreachable: \($0)"] } ?? [])
    let missing = settings.others.filter { !neighbours.isPresent($0) }
    let hosts = missing.isEmpty ? "all hosts are there" : "missing: \(missing.joined(separator: " "))"
    let refused = self.hosts.refused
    let unasked =
      refused.isEmpty ? [] : ["not asked of the cluster, by the policy: \(refused.joined(separator: " "))"]
    let vetoed = inquiries.refusal.map { ["questions to the cluster are vetoed: \($0)"] } ?? []
    let doubt = [double.doubt, rosters.doubt].compactMap(\.self)
    let waiting = durable.lack.map { ["durable notifications wait: \($0)"] } ?? []
    let text = ((sides.isEmpty ? [hosts] : sides) + doubt + unasked + vetoed + waiting).joined(
      separator: "; ")
    if text != lastStatus { status(text) }
    lastStatus = text
  }
}
