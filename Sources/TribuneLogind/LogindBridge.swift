// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Connects the bus with logind: vetoes on the bus are locks of logind, locks of logind are holds on the bus, and what
/// logind is about to do is posted and, if it is scheduled, asked.
///
/// Either side can go and come back. What the other side is told then follows from what is there.
final class LogindBridge {
  /// logind's files, which change when locks and scheduled shutdowns do: it sends no signal for those.
  private static let folders = ["/run/systemd/inhibit", "/run/systemd/shutdown"]
  /// As long as the library looks for a bus.
  private static let patience = Duration.seconds(10)
  private static let pauses = [Duration.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5)]

  private enum Side {
    case bus, dbus
  }

  private var settings: LogindSettings
  private let locks: LogindLocks
  private let mask: TargetMask
  private let foreign = ForeignInhibitors()
  private let transitions = HostTransitions()
  private let schedule = ShutdownSchedule()
  private let signals = SignalRelay()
  private let status: (String) -> Void

  private var bus: Connection?
  private var dbus: DBusConnection?
  /// Nil while logind does not run.
  private var logind: LogindProxy?
  private var matches: [DBusConnection.Match] = []
  private var objections: [HostQuestion: [Objection]] = [:]
  /// The vetoes in the last dry run, by the id of the delegate.
  private var probed: [HostQuestion: [UInt64: Objection]] = [:]
  /// What the host is about to do.
  private var preparing: Set<HostQuestion.Lock> = []
  /// The objections that logind did not know when it, or D-Bus, had gone.
  private var objectionsBefore: Set<Objection>?
  private var tasks: [Task<Void, Never>] = []
  private var probing: Task<Void, Never>?
  private var isStopping = false
  private lazy var objectionRefresh = Refresh { [weak self] in await self?.refreshObjections() }
  private lazy var logindRefresh = Refresh { [weak self] in await self?.refreshLogind() }

  /// - Parameter status: gets one line whenever something has changed.
  init(
    _ settings: LogindSettings, store: DescriptorStore, mask: TargetMask, status: @escaping (String) -> Void
  ) {
    self.settings = settings
    locks = LogindLocks(store: store)
    self.mask = mask
    self.status = status
  }

  /// Connects to both sides, and returns when each was reached or found missing.
  func start() async {
    let (attempts, attempted) = AsyncStream<Side>.makeStream()
    tasks.append(Task { await followBus { attempted.yield(.bus) } })
    tasks.append(Task { await followDBus { attempted.yield(.dbus) } })
    tasks.append(Task { await followFolders() })
    tasks.append(Task { await dropFormerLocks() })
    probe()
    var missing: Set<Side> = [.bus, .dbus]
    for await side in attempts {
      missing.remove(side)
      if missing.isEmpty { break }
    }
    await objectionRefresh.finish()
    await logindRefresh.finish()
  }

  /// What an earlier process has locked stays until this one knows better, or can assume that the bus is gone.
  private func dropFormerLocks() async {
    do {
      try await Task.sleep(for: Self.patience)
    } catch {
      return
    }
    locks.dropFormer()
  }

  /// Applies other settings.
  func reconfigure(_ settings: LogindSettings) {
    self.settings = settings
    watchSignals()
    probe()
    objectionRefresh.request()
  }

  /// Takes back what is masked. The locks end with the process, unless the service manager starts another one.
  func stop() async {
    isStopping = true
    await applyMask()
  }

  // MARK: The bus

  private func followBus(_ attempted: () -> Void) async {
    var failures = 0
    while !Task.isCancelled {
      do throws(TribuneError) {
        let bus = try await Connection.connect()
        let changes = try await bus.observe(anyOf: ["tribune.hold.*", "tribune.delegate.*"])
        self.bus = bus
        failures = 0
        ServiceLog.info("connected to the bus")
        objectionRefresh.request()
        logindRefresh.request()
        attempted()
        // Whatever comes, also that something was lost, is a reason to look again.
        for try await _ in changes { objectionRefresh.request() }
        throw TribuneError(.connectionLost, "the connection has ended")
      } catch {
        if bus != nil || failures == 0 { ServiceLog.warning("not connected to the bus: \(error)") }
      }
      loseBus()
      attempted()
      await pause(failures)
      failures += 1
    }
  }

  /// The bus is gone, with all holds and delegates.
  private func loseBus() {
    guard bus != nil else { return }
    bus = nil
    foreign.forget()
    schedule.forget()
    objections = [:]
    objectionRefresh.request()
  }

  private func refreshObjections() async {
    var isKnown = false
    if let bus {
      var found: [HostQuestion: [Objection]] = [:]
      do throws(TribuneError) {
        for question in HostQuestion.allCases {
          let explanation = try await bus.explain(question.name)
          let attached = explanation.delegates.compactMap { probed[question]?[$0.id] }
          let all = Objection.all(in: explanation, own: bus.id) + attached
          if !all.isEmpty { found[question] = all }
        }
        objections = found
        isKnown = true
      } catch {
        ServiceLog.warning("cannot look for vetoes: \(error)")
      }
    }
    if await applyObjections(), isKnown { locks.dropFormer() }
    await applyMask()
    reportStatus()
  }

  /// - Returns: whether logind blocks what it should.
  private func applyObjections() async -> Bool {
    guard let logind else {
      if objections.isEmpty { locks.endBlocking() }
      return false
    }
    do throws(DBusError) {
      for lock in HostQuestion.Lock.allCases {
        let all = lock.questions.flatMap { objections[$0] ?? [] }
        let text = all.isEmpty ? nil : LockText(all.uniqued)
        guard try await locks.block(lock, text, at: logind) else { continue }
        ServiceLog.notice(
          text.map { "blocking \(lock): \($0.who): \($0.why)" } ?? "not blocking \(lock) any more")
      }
      return true
    } catch {
      ServiceLog.error("cannot block with logind: \(error)")
      return false
    }
  }

  private func applyMask() async {
    guard let dbus else { return }
    let targets = settings.masksTargets && !isStopping ? Set(objections.keys.flatMap(\.targets)) : []
    guard targets != mask.masked else { return }
    do throws(DBusError) {
      try await mask.update(targets, at: SystemdProxy(dbus))
      let masked = mask.masked.sorted().joined(separator: " ")
      ServiceLog.notice(masked.isEmpty ? "nothing is masked any more" : "masked: \(masked)")
    } catch {
      ServiceLog.error("cannot mask what is vetoed: \(error)")
    }
  }

  /// Asks the delegates now and then, if that is wanted. Nothing else waits for their answers.
  private func probe() {
    probing?.cancel()
    guard let interval = settings.probe else {
      probing = nil
      probed = [:]
      return
    }
    probing = Task {
      while !Task.isCancelled {
        if let bus { await probe(on: bus) }
        do {
          try await Task.sleep(for: interval)
        } catch {
          return
        }
      }
    }
  }

  private func probe(on bus: Connection) async {
    do throws(TribuneError) {
      for question in HostQuestion.allCases {
        probed[question] = Objection.probed(in: try await bus.ask(question.name, mode: .all, isDryRun: true))
      }
    } catch {
      ServiceLog.warning("cannot ask the delegates a dry run: \(error)")
    }
    objectionRefresh.request()
  }

  // MARK: logind

  private func followDBus(_ attempted: () -> Void) async {
    var failures = 0
    while !Task.isCancelled {
      let (ends, ended) = AsyncStream<Errno>.makeStream()
      do {
        let dbus = try DBusConnection { ended.yield($0) }
        self.dbus = dbus
        failures = 0
        try await watch(dbus)
        attempted()
        for await error in ends { throw error }
      } catch {
        if dbus != nil || failures == 0 { ServiceLog.warning("not connected to D-Bus: \(error)") }
      }
      matches = []
      dbus = nil
      loseLogind()
      attempted()
      await pause(failures)
      failures += 1
    }
  }

  private func watch(_ dbus: DBusConnection) async throws {
    let manager = LogindProxy(dbus)
    matches = [
      try manager.onOwnerChange { [weak self] isThere in
        if isThere { self?.findLogind(manager) } else { self?.loseLogind() }
      },
      try manager.onPreparing(for: .shutdown) { [weak self] in self?.prepare(.shutdown, $0) },
      try manager.onPreparing(for: .sleep) { [weak self] in self?.prepare(.sleep, $0) },
    ]
    watchSignals()
    // Starts it, if it does not run.
    _ = try await manager.delayMax()
    findLogind(manager)
    await logindRefresh.finish()
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
    objectionsBefore = Set(objections.values.joined())
    ServiceLog.warning("logind is gone; its locks stay, and vetoes from now on have none until it is back")
  }

  /// Compares what logind has with what is wanted, and looks at what it has scheduled.
  private func refreshLogind() async {
    guard let logind else { return }
    do {
      if let before = objectionsBefore {
        objectionsBefore = nil
        locks.expire()
        objectionRefresh.request()
        let missed = Set(objections.values.joined()).subtracting(before)
        for one in missed {
          ServiceLog.warning("logind did not know of a veto until now: \(one.who): \(one.why)")
        }
      }
      for lock in HostQuestion.Lock.allCases {
        if try await logind.isPreparing(for: lock) {
          prepare(lock, true)
        } else {
          try await locks.delay(lock, at: logind)
        }
      }
      guard let bus else { return }
      let inhibitors = try await logind.inhibitors()
      try await foreign.update(inhibitors, own: locks.processes(among: inhibitors), on: bus)
      await schedule.update(on: bus, at: logind)
    } catch {
      ServiceLog.warning("cannot follow logind: \(error)")
    }
    reportStatus()
  }

  private func prepare(_ lock: HostQuestion.Lock, _ isPreparing: Bool) {
    guard isPreparing else {
      preparing.remove(lock)
      Task {
        if let bus { await transitions.end(lock, on: bus) }
        logindRefresh.request()
      }
      return
    }
    // It is heard of by a signal, and seen whenever logind is looked at.
    guard preparing.insert(lock).inserted else { return }
    Task {
      if let bus, let logind { await transitions.prepare(for: lock, on: bus, at: logind) }
      locks.endDelay(lock)
    }
  }

  private func followFolders() async {
    do throws(Errno) {
      let watch = try FolderWatch()
      for folder in Self.folders {
        try Folder.make(folder, mode: 0o755)
        _ = try watch.watch(Array(folder.utf8))
      }
      for await _ in watch.news { logindRefresh.request() }
    } catch {
      ServiceLog.error("cannot watch logind's files, so locks and scheduled shutdowns go unnoticed: \(error)")
    }
  }

  // MARK: Both

  private func pause(_ failures: Int) async {
    do {
      try await Task.sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
    } catch {
      // The loop looks at the cancellation.
      return
    }
  }

  private func reportStatus() {
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
  /// Each element once, in the order of its first place.
  fileprivate var uniqued: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
