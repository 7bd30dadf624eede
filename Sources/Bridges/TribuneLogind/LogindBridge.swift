// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneSystem
import TribuneWire

/// Turns vetoes on the bus into logind locks and masked targets, and other programs' logind locks into holds.
/// Announces each shutdown and sleep, and asks the bus about scheduled shutdowns. The bridge misses events
/// while the bus or logind restarts, so most events make the bridge read the whole state again.
@MainActor final class LogindBridge: Delegate {
  /// The bridge waits this long for a bus before it drops the locks of an earlier process.
  private static let patience = Duration.seconds(10)
  private static let answerTime = Duration.seconds(10)
  /// If the targets are masked already, the answer about a new hold waits only this long for the logind lock.
  private static let lockTime = Duration.seconds(2)
  /// How long `start` waits for the bus. A package upgrade, which waits for `start`, must not hang.
  private static let startTime = Duration.seconds(5)

  private enum Side: CaseIterable {
    case bus, dbus
  }

  private var settings: LogindSettings
  private let locks: LogindLocks
  private let mask: TargetMask
  private let foreign = ForeignInhibitors()
  private let transitions = HostTransitions()
  private let signals = SignalRelay()
  private let status: (String) -> Void

  private var bus: Connection?
  private var dbus: DBusConnection?
  private var logindSignals: DBusSignals?
  private var logind: LogindProxy?
  /// True if `block` locks stop root, too; nil until logind has replied.
  private var bindsRoot: Bool?
  /// True once the running logind has replied to `bindsRoot`. After a restart of logind, the bridge asks
  /// again, because the new logind can be another version.
  private var isVersionCurrent = false
  private var maskFailure: DBusError?
  /// True if `objections` are up to date.
  private var isCurrent = false
  private var objections: [HostQuestion: [Objection]] = [:]
  private var delegates: [HostQuestion: Set<UInt64>] = [:]
  /// The objections from the last dry run, by delegate id.
  private var probed: [HostQuestion: [UInt64: Objection]] = [:]
  /// Objections from a dry run on an earlier connection or with earlier settings. The bridge enforces them
  /// until the next dry run ends.
  private var formerlyProbed: [HostQuestion: [Objection]] = [:]
  private var locked: [HostQuestion.Lock: [Objection]] = [:]
  /// Objections without a lock, because logind was unreachable or refused the lock.
  private var unlocked: Set<Objection> = []
  private var preparing: Set<HostQuestion.Lock> = []
  /// Counts logind's `PrepareFor…` signals. A signal during a call can make the call's reply outdated.
  private var preparationNews = 0
  /// For each lock, the task that announces the latest begin or end of a shutdown or sleep. Each task waits
  /// for the lock's previous one.
  private var announcements: [HostQuestion.Lock: Task<Void, Never>] = [:]
  private var probing: Task<Void, Never>?
  /// True once the bridge has read the vetoes, or has stopped waiting for the bus. While this is false, the
  /// bridge keeps the masks of an earlier process.
  private var knowsVetoes = false
  /// True if the bus runs, but refuses this program. The bridge then keeps enforcing the known vetoes.
  private var isRefused = false
  private var isPatient = true
  private lazy var overrides = Overrides { [weak self] in self?.objectionRefresh.request() }
  private lazy var schedule = ShutdownSchedule { [weak self] in self?.isOverridden($0) == true }
  private lazy var objectionRefresh = Refresh { [weak self] in await self?.refreshObjections() ?? true }
  private lazy var logindRefresh = Refresh { [weak self] in await self?.refreshLogind() ?? true }
  /// The bridge updates masks and locks separately: if logind hangs, the masks must not wait for the locks.
  private lazy var maskRefresh = Refresh { [weak self] in await self?.applyMask() ?? true }
  private lazy var lockRefresh = Refresh { [weak self] in await self?.applyLocks() ?? true }

  init(
    _ settings: LogindSettings, store: DescriptorStore, mask: TargetMask, status: @escaping (String) -> Void
  ) {
    self.settings = settings
    locks = LogindLocks(store: store)
    self.mask = mask
    self.status = status
  }

  /// Returns after the first attempts to connect to the bus and to D-Bus, and after the updates of masks and
  /// locks that follow. Waits at most `startTime` for the bus.
  func start() async {
    let tries = FirstTries<Side>()
    Task { await followBus { tries.finish(.bus) } }
    Task { await followDBus { tries.finish(.dbus) } }
    Task { await followFolders() }
    Task { await dropFormerLocks() }
    Task {
      await rest(for: Self.startTime)
      tries.finish(.bus)
    }
    await tries.waitForAll()
    await logindRefresh.finish()
    await objectionRefresh.finish()
    await maskRefresh.finish()
    await lockRefresh.finish()
  }

  private func dropFormerLocks() async {
    await rest(for: Self.patience)
    isPatient = false
    dropLocksOfMissingBus()
  }

  private func dropLocksOfMissingBus() {
    guard !isPatient, bus == nil, !isRefused else { return }
    locks.dropInheritedBlockLocks()
    knowsVetoes = true
    maskRefresh.request()
  }

  func reconfigure(_ settings: LogindSettings) {
    self.settings = settings
    watchSignals()
    probe()
    objectionRefresh.request()
    maskRefresh.request()
  }

  // MARK: The bus

  private func followBus(_ attempted: () -> Void) async {
    var retries = Retries()
    while true {
      do throws(TribuneError) {
        let bus = try await Connection.connect()
        let changes = try await bus.observe(
          anyOf: ["tribune.hold.*", "tribune.delegate.*", "tribune.bus.didReload", Overrides.announcement]
            + HostQuestion.allCases.flatMap { [$0.announcement, $0.failure] })
        try await bus.attach(
          self, respondingTo: [WellKnownQuestions.enforcement], order: .min, timeout: Self.answerTime)
        self.bus = bus
        isRefused = false
        probe()
        retries.reset()
        ServiceLog.info("connected to the bus")
        objectionRefresh.request()
        logindRefresh.request()
        attempted()
        for try await change in changes {
          if case .notification(let news) = change { overrides.update(for: news) }
          schedule.reconsider(Self.questions(announcedBy: change))
          objectionRefresh.request()
        }
        throw TribuneError(.connectionLost, "the connection has ended")
      } catch {
        if bus != nil || retries.isFirst { ServiceLog.warning("not connected to the bus: \(error)") }
        loseBus()
        isRefused = !error.meansNoBus
        if !isRefused { forgetVetoes() }
      }
      attempted()
      await retries.pause()
    }
  }

  /// The questions whose verdict may have changed; all questions if notifications were lost.
  private static func questions(announcedBy delivery: Delivery) -> Set<HostQuestion> {
    guard case .notification(let news) = delivery else { return Set(HostQuestion.allCases) }
    return Set(HostQuestion.allCases.filter { $0.announcement == news.name })
  }

  private func loseBus() {
    guard bus != nil else { return }
    bus = nil
    isCurrent = false
    foreign.forget()
    schedule.forget()
    forgetProbe()
    objectionRefresh.request()
  }

  private func forgetProbe() {
    for (question, vetoes) in probed {
      formerlyProbed[question, default: []] += vetoes.sorted { $0.key < $1.key }.map(\.value)
    }
    probed = [:]
  }

  private func forgetVetoes() {
    (objections, delegates, formerlyProbed) = ([:], [:], [:])
    isCurrent = false
    objectionRefresh.request()
    dropLocksOfMissingBus()
  }

  private func refreshObjections() async -> Bool {
    var hasFailed = false
    isCurrent = false
    if let bus {
      do throws(TribuneError) {
        let (found, attached) = try await foundObjections(on: bus)
        if bus === self.bus {
          let news = HostQuestion.allCases.filter { found[$0] != nil && found[$0] != objections[$0] }
          let joined = attached.filter { !$1.isSubset(of: delegates[$0] ?? []) }
          (objections, delegates) = (found, attached)
          (isCurrent, knowsVetoes) = (true, true)
          if let logind, !news.isEmpty { schedule.object(to: Set(news), on: bus, at: logind) }
          schedule.reconsider(Set(joined.keys).subtracting(news))
        }
      } catch {
        hasFailed = true
        ServiceLog.warning("cannot look for vetoes: \(error)")
      }
    }
    maskRefresh.request()
    lockRefresh.request()
    return !hasFailed
  }

  private func foundObjections(
    on bus: Connection
  ) async throws(TribuneError) -> ([HostQuestion: [Objection]], [HostQuestion: Set<UInt64>]) {
    var found: [HostQuestion: [Objection]] = [:]
    var delegates: [HostQuestion: Set<UInt64>] = [:]
    // The loop uses copies, because a dry run may end during the loop.
    let (probed, formerlyProbed) = (probed, formerlyProbed)
    for question in HostQuestion.allCases {
      let explanation = try await bus.explain(question.name)
      let own = explanation.delegates.compactMap { probed[question]?[$0.id] }
      let attached = (own + (formerlyProbed[question] ?? [])).uniqued
      let all = Objection.all(in: explanation, own: bus.id) + attached
      if !all.isEmpty { found[question] = all }
      delegates[question] = Set(explanation.delegates.map(\.id))
    }
    return (found, delegates)
  }

  private var enforcement: Enforcement {
    Enforcement(
      vetoed: Set(objections.keys), overridden: overrides.questions, masksTargets: settings.masksTargets,
      bindsRoot: bindsRoot, masked: mask.applied)
  }

  private func isOverridden(_ question: HostQuestion) -> Bool {
    Set(overrides.questions.flatMap(\.targets)).isSuperset(of: question.targets)
  }

  /// Takes and releases the locks, but skips the lock of a shutdown or sleep that has begun. Returns false
  /// after a failure; `Refresh` then calls this method again. Returns true if logind does not run, because
  /// logind's start triggers a refresh.
  private func applyLocks() async -> Bool {
    defer { updateStatus() }
    var wanted: [(HostQuestion.Lock, [Objection])] = []
    // These are copies, because the objections may change during the calls to logind.
    let isCurrent = isCurrent
    let blocks = enforcement.blocks
    for lock in HostQuestion.Lock.allCases where !preparing.contains(lock) {
      if blocks[lock] != Enforcement.Block.none {
        wanted.append((lock, lock.questions.flatMap { objections[$0] ?? [] }.uniqued))
      } else if locks.release(lock) {
        locked[lock] = nil
        ServiceLog.notice("not blocking \(lock) any more")
      }
    }
    guard let logind else {
      for (lock, all) in wanted { unlocked.formUnion(Set(all).subtracting(locked[lock] ?? [])) }
      return true
    }
    var hasFailed = false
    for (lock, all) in wanted {
      do throws(DBusError) {
        let text = LockText(all)
        let isChange = try await locks.block(lock, text, isWeak: blocks[lock] == .weak, at: logind)
        locked[lock] = all
        if isChange { ServiceLog.notice("blocking \(lock): \(text.who): \(text.why)") }
      } catch {
        hasFailed = true
        unlocked.formUnion(Set(all).subtracting(locked[lock] ?? []))
        ServiceLog.error("cannot block \(lock) with logind, in spite of a veto: \(error)")
      }
    }
    if !hasFailed, isCurrent, self.logind != nil { locks.dropInheritedBlockLocks() }
    return !hasFailed
  }

  private func applyMask() async -> Bool {
    var targets = enforcement.targets
    if !knowsVetoes { targets.formUnion(mask.linked) }
    for lock in preparing {
      let known = Set(lock.questions.flatMap(\.targets))
      targets = targets.subtracting(known).union(mask.linked.intersection(known))
    }
    do throws(DBusError) {
      let change = try await mask.update(targets)
      maskFailure = nil
      if change != .none { lockRefresh.request() }
      guard change == .made else { return true }
      let masked = mask.linked.sorted().joined(separator: " ")
      ServiceLog.notice(masked.isEmpty ? "nothing is masked any more" : "masked: \(masked)")
      return true
    } catch {
      if error != maskFailure {
        ServiceLog.error("cannot mask what is vetoed, and nothing else: \(error)")
        lockRefresh.request()
      }
      maskFailure = error
      return false
    }
  }

  private func probe() {
    probing?.cancel()
    forgetProbe()
    if settings.probe == nil { formerlyProbed = [:] }
    probing = settings.probe.map { interval in
      Task {
        while !Task.isCancelled {
          if let bus { await probe(on: bus) }
          await rest(for: interval)
        }
      }
    }
  }

  private func probe(on bus: Connection) async {
    do throws(TribuneError) {
      var found: [HostQuestion: [UInt64: Objection]] = [:]
      for question in HostQuestion.allCases {
        let verdict = try await bus.ask(question.name, mode: .all, isDryRun: true)
        guard !Task.isCancelled, bus === self.bus else { return }
        found[question] = Objection.probed(in: verdict)
      }
      probed = found
    } catch {
      guard !Task.isCancelled else { return }
      ServiceLog.warning("cannot ask the delegates a dry run: \(error)")
    }
    formerlyProbed = [:]
    objectionRefresh.request()
  }

  // MARK: logind

  private func followDBus(_ attempted: () -> Void) async {
    var retries = Retries()
    while true {
      let (ends, ended) = AsyncStream<Errno>.makeStream()
      do throws(Errno) {
        let dbus = try DBusConnection(closed: { ended.yield($0) })
        self.dbus = dbus
        try watch(dbus)
        await wakeLogind(on: dbus)
        retries.reset()
        attempted()
        for await error in ends { throw error }
      } catch {
        if dbus != nil || retries.isFirst { ServiceLog.warning("not connected to D-Bus: \(error)") }
      }
      (logindSignals, dbus) = (nil, nil)
      loseLogind()
      attempted()
      await retries.pause()
    }
  }

  private func watch(_ dbus: DBusConnection) throws(Errno) {
    let manager = LogindProxy(dbus)
    let signals = try DBusSignals(of: LogindProxy.service, on: dbus) { [weak self] isThere in
      if isThere { self?.findLogind(manager) } else { self?.loseLogind() }
    }
    for (member, lock) in [("PrepareForShutdown", HostQuestion.Lock.shutdown), ("PrepareForSleep", .sleep)] {
      try signals.on(interface: LogindProxy.interface, member: member) { [weak self] signal in
        guard let self, case .bool(let isPreparing)? = signal.values?.first else { return }
        preparationNews += 1
        updatePreparation(for: lock, isPreparing)
      }
    }
    logindSignals = signals
    watchSignals()
  }

  private func wakeLogind(on dbus: DBusConnection) async {
    let manager = LogindProxy(dbus)
    do throws(DBusError) {
      _ = try await manager.delayMax()
      findLogind(manager)
      await logindRefresh.finish()
    } catch {
      ServiceLog.warning("logind does not run: \(error)")
    }
  }

  private func watchSignals() {
    guard let dbus else { return }
    do throws(Errno) {
      try signals.watch(settings.signals, on: dbus) { [weak self] in self?.bus }
    } catch {
      ServiceLog.error("cannot watch D-Bus signals: \(error)")
    }
  }

  private func findLogind(_ manager: LogindProxy) {
    guard logind == nil else { return }
    logind = manager
    ServiceLog.info("connected to logind")
    logindRefresh.request()
    objectionRefresh.request()
  }

  private func loseLogind() {
    guard logind != nil else { return }
    logind = nil
    isVersionCurrent = false
    locks.expire()
    ServiceLog.warning("logind is gone; its locks stay, and vetoes from now on have none until it is back")
  }

  private func refreshLogind() async -> Bool {
    guard let logind else { return true }
    for one in unlocked { ServiceLog.warning("logind did not know of a veto until now: \(one.line)") }
    unlocked = []
    var succeeds = true
    if !isVersionCurrent {
      succeeds = await Self.attempt("find out what locks bind") {
        self.bindsRoot = try await logind.bindsRoot()
        self.isVersionCurrent = true
        self.objectionRefresh.request()
      }
    }
    for lock in HostQuestion.Lock.allCases {
      succeeds =
        await Self.attempt("prepare for a \(lock)") {
          let news = self.preparationNews
          let isPreparing = try await logind.isPreparing(for: lock)
          // If a signal arrived during the call, the reply may be outdated, so the bridge ignores the reply.
          if news == self.preparationNews { self.updatePreparation(for: lock, isPreparing) }
          if !self.preparing.contains(lock) { try await self.locks.delay(lock, at: logind) }
        } && succeeds
    }
    guard let bus else { return succeeds }
    succeeds =
      await Self.attempt("hold what others have locked") {
        let inhibitors = try await logind.inhibitors()
        try await self.foreign.update(inhibitors, own: self.locks.processes(among: inhibitors), on: bus)
      } && succeeds
    if !preparing.contains(.shutdown) {
      succeeds =
        await Self.attempt("look for a scheduled shutdown") {
          try await self.schedule.update(on: bus, at: logind)
        } && succeeds
    }
    updateStatus()
    return succeeds
  }

  private static func attempt(_ what: String, _ body: @MainActor () async throws -> Void) async -> Bool {
    do {
      try await body()
      return true
    } catch {
      ServiceLog.warning("cannot \(what): \(error)")
      return false
    }
  }

  private func updatePreparation(for lock: HostQuestion.Lock, _ isPreparing: Bool) {
    guard isPreparing != preparing.contains(lock) else { return }
    if isPreparing { preparing.insert(lock) } else { preparing.remove(lock) }
    announcements[lock] = Task { [earlier = announcements[lock]] in
      await earlier?.value
      if isPreparing {
        if let bus, let logind { await transitions.prepare(for: lock, on: bus, at: logind) }
        locks.endDelay(lock)
      } else {
        if let bus { await transitions.end(lock, on: bus) }
        overrides.end(lock.questions)
        logindRefresh.request()
        objectionRefresh.request()
      }
    }
  }

  private func followFolders() async {
    do throws(Errno) {
      let watch = try FolderWatch()
      for folder in LogindProxy.folders {
        try Folder.make(folder, mode: 0o755)
        _ = try watch.watch(Array(folder.utf8))
      }
      for await _ in watch.news { logindRefresh.request() }
    } catch {
      ServiceLog.error("cannot watch logind's files, so locks and scheduled shutdowns go unnoticed: \(error)")
    }
  }

  // MARK: Both

  /// Answers the value query `host.enforcement`. After a new hold, the answer comes when the hold is
  /// enforced, or when enforcing it takes too long. Before an allowed action, the answer names the locks and
  /// masks that still stop the action.
  func answer(_ question: Tribune.Question) async throws -> Tribune.Answer {
    let document = try question.userInfo.withBytes { bytes throws(JSONText.SyntaxError) in
      try JSONDocument(bytes)
    }
    let names = WellKnownQuestions.hostNames(matching: document.root["name"]?.string ?? "")
    let asked = HostQuestion.allCases.filter { names.contains($0.name) }
    guard let first = asked.first else { return .abstain }
    let reply =
      switch document.root["after"]?.string {
      case "hold": await confirm(asked)
      case "override": try await giveWay(for: first, isOverridden: true)
      default: try await giveWay(for: first, isOverridden: false)
      }
    return .value(UserInfo(JSONValue.object(reply).compactBytes))
  }

  private func finishMask() async {
    objectionRefresh.request()
    await objectionRefresh.finish()
    await maskRefresh.finish()
  }

  private func isMasked(_ asked: [HostQuestion]) -> Bool {
    mask.applied?.isSuperset(of: asked.flatMap(\.targets)) == true
  }

  private func confirm(_ asked: [HostQuestion]) async -> [(String, JSONValue)] {
    let late = preparing.intersection(asked.map(\.lock))
    if !late.isEmpty {
      let what = late.contains(.shutdown) ? "going down" : "going to sleep"
      return [
        ("isTooLate", .bool(late.contains(.shutdown) || late.isSuperset(of: asked.map(\.lock)))),
        ("isInForce", .bool(false)),
        ("says", .string("the hold is too late: the host is already \(what)")),
      ]
    }
    await finishMask()
    await lockRefresh.finish(within: isMasked(asked) ? Self.lockTime : Self.answerTime - Self.lockTime)
    let isMasked = isMasked(asked)
    let isLocked = asked.allSatisfy { locks.blocking($0.lock) != nil }
    // With `Enforce=mask`, a lock alone does not suffice, because a lock stops only programs that ask logind.
    let isBinding = isMasked || !settings.masksTargets && isLocked && bindsRoot == true
    let overridden = asked.filter(isOverridden)
    let says =
      if isBinding {
        "the hold binds root, too"
      } else if let first = overridden.first {
        "the hold does not bind yet: \(first.name) is overridden for \(Overrides.time), or until it fails"
      } else if isLocked, settings.masksTargets {
        "the hold may not bind root: not all is masked (see the journal of tribune-logind)"
      } else if isLocked {
        "the hold does not bind root, who can still use systemctl: Enforce= is off in logind.conf"
      } else {
        "logind does not know of the hold: it "
          + (logind == nil
            ? "does not run" : "refused a lock or did not answer (see the journal of tribune-logind)")
      }
    return [("isInForce", .bool(isBinding || isLocked && !settings.masksTargets)), ("says", .string(says))]
  }

  private func giveWay(
    for question: HostQuestion, isOverridden isAnnounced: Bool
  ) async throws -> [(String, JSONValue)] {
    let end = ContinuousClock.now + Self.answerTime
    // The bus may announce the override after this question, so the loop waits for the announcement.
    while isAnnounced, !isOverridden(question), .now < end { await rest(for: .milliseconds(10)) }
    await finishMask()
    await lockRefresh.finish()
    var obstacles: [String] = []
    if mask.linked.contains(question.ownTarget) { obstacles.append("its target is masked") }
    while let logind {
      let inhibitors = try await logind.inhibitors()
      if isAnnounced, locks.isListed(question.lock, among: inhibitors), .now < end {
        await rest(for: .milliseconds(10))
        continue
      }
      if bindsRoot == true {
        let binding = inhibitors.filter { $0.mode == "block" && $0.questions.contains(question) }
        obstacles += binding.map { "logind has a lock of \(Objection(who: $0.who, why: $0.why).line)" }
      }
      break
    }
    return [("obstacles", .array(obstacles.map { .string($0) }))]
  }

  private func updateStatus() {
    let blocked = HostQuestion.Lock.allCases.compactMap { lock in
      locks.blocking(lock).map { "\(lock.rawValue) blocked by \($0.who)" }
    }
    let sides = (bus == nil ? ["no bus"] : []) + (logind == nil ? ["no logind"] : [])
    let others =
      foreign.count == 0 ? [] : ["\(foreign.count.counted("lock")) of other programs held on the bus"]
    let all = sides + blocked + others
    status(all.isEmpty ? "Nothing is blocked" : all.joined(separator: "; "))
  }
}

extension Array where Element: Hashable {
  fileprivate var uniqued: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
