// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneCore
import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  private func runBus(_ faults: Faults, _ body: (BusInstance) -> Void) throws(Violation) {
    guard let bus else { return }
    iterationBegan = Kernel.now
    try run(faults) { body(bus) }
  }

  private func run(_ faults: Faults, _ body: () -> Void) throws(Violation) {
    // The model does not know which parts of a hand-over are lost with a keeper, nor whether a daemon that takes over
    // has already received a log that only the keeper has.
    if faults.turns > 0, !isHandedOver, !isTakingOver || keeping.isLogStored, random.oneIn(200) {
      keeping.turnsToLive = Int.random(in: 0..<random.pick([4, 40]), using: &random)
    }
    let willDie = keeping.turnsToLive != nil
    let events = Kernel.run(seed: random.next(), faults, body)
    if willDie, keeping.turnsToLive == nil { keeperDied() }
    keeping.turnsToLive = nil
    try take(events)
  }

  private func beginWork() {
    (readInIteration, triedInIteration, idleDelivered, sentLast) = ([], [], [], nil)
  }

  func iterate(faults given: Faults? = nil) throws(Violation) {
    guard bus != nil else { return try start() }
    beginWork()
    let faults = given ?? faults()
    Kernel.ringAlarm()
    var goesOn = true
    var error: Errno?
    if let due = bus?.nextDeadline, due.nanoseconds <= Kernel.now {
      try runBus(faults) { $0.checkDeadlines() }
      if Kernel.busIsDead {
        doubtWaiting()
        doubtThoseWhoStopped()
        return died()
      }
      pastDeadlines()
    }
    try runBus(faults) { bus in
      do throws(Errno) {
        goesOn = try bus.iterate()
      } catch let failure {
        error = failure
      }
    }
    if let error { throw fail("the run loop failed: \(error)") }
    guard !Kernel.busIsDead else { return died() }
    try require(goesOn, "the bus has ended")
    deliverSoon()
    try requireHellos()
    hasServed = true
    earlyDeaths = 0
    try updateStored()
    if !random.oneIn(4) { Kernel.turnKeeper() }
  }

  /// Any daemon must dismiss a client that has not said hello in time.
  private func requireHellos() throws(Violation) {
    for link in known
    where !link.isOnBus && link.cookie != 0 && !link.isForgotten && !link.hasLeft && link.fate == .survives
      && max(link.acceptedTime, tookOverTime) + 11_000_000_000 <= iterationBegan
    {
      try require(
        link.boundary.isClosing || link.isBlocked,
        "link \(link.number) has not said hello, and is still waited for")
    }
  }

  private func updateStored() throws(Violation) {
    guard let bus else { return }
    try requireKept()
    // A new keeper is empty.
    if !bus.hasKeeper {
      doubtFiles()
      isKeeperGone = false
    }
    guard setting.keepsAll, !isSlow, !isKeeperGone, bus.isAllKept else { return }
    for post in retained where !post.isUnstorable { post.isStored = true }
  }

  /// The keeper must have everything that the bus believes kept.
  private func requireKept() throws(Violation) {
    // A keeper that cannot send hangs up, and the bus notices it later.
    guard bus?.isAllKept == true, keeping.keeperHasLog, !isKeeperGone, setting.keepsAll, !setting.isTight,
      !isSlow
    else { return }
    for link in known
    where link.isOnBus && !link.isForgotten && !link.hasLeft && !link.isShutDown && link.detachedUntil == nil
      && link.registrations.contains(where: { $0.isKnown && $0.certainty == .certain })
    {
      try require(
        keeping.has(cookie: link.cookie), "link \(link.number) has registrations, and the keeper has no copy")
    }
  }

  func doubtFiles() {
    for post in retained + retained.flatMap(\.displaced) { post.isStored = false }
    retainedOrReplaced.removeAll { $0.isFile || $0.displaced.contains { $0.isFile } }
  }

  func start() throws(Violation) {
    // The keeper itself measures how long it has waited for this bus.
    let (left, isLeased) = (keeping.left, keeping.hasLease)
    keeping.turnUntilIdle()
    try require(!isLeased || keeping.left == left, "the keeper has a lease, and has not waited for the bus")
    var passed = keeping.passed(using: &random)
    passed.append((fcntl(listener.descriptor.rawValue, F_DUPFD_CLOEXEC, 0), "bus"))
    try judgeMissing()
    var faults = faults()
    if random.oneIn(12) { faults.noMemory = 3 }
    if random.oneIn(12), !isHandedOver { faults.lostKept = 2 }
    beginWork()
    isTakingOver = true
    startedAt = taken
    (given, isGivenLess) = ([], false)
    isKeeperGone = false
    iterationBegan = Kernel.now
    hasServed = false
    Kernel.revive()
    let expected = keeping.hasLog ? commits : Commits()
    commits = Commits()
    var started: BusInstance?
    var replayed: BusDigest?
    var flaw: (any Error)?
    let configuration = setting.configuration
    try run(faults) {
      do {
        let atStart = try PassedAtStart(passed)
        let bus = try BusInstance(
          configuration, taking: atStart, keptBy: "keeper",
          log: Log(level: Life.logLevel, journal: nil), isStepped: true)
        started = bus
        bus.takeOver()
        // Before, commits are of a state that the log gets only at the end of the take-over.
        observeCommits(of: bus)
        replayed = bus.replayed
        for socket in atStart.takeListening() {
          try bus.listen(on: Listener(passed: FileDescriptor(owning: socket.descriptor), path: "bus"))
        }
        bus.start()
      } catch {
        flaw = error
        started = nil
      }
    }
    bus = started
    try judge(replayed, expected)
    if Kernel.busIsDead {
      endForbidden(isCertain: false)
      return died()
    }
    isTakingOver = false
    if let flaw {
      try require(faults.noMemory > 0 || faults.keeper > 0, "the bus does not start: \(flaw)")
      bus = nil
      return
    }
    tookOver()
    endForbidden(isCertain: true)
  }

  /// `mayHaveHandedOver`: the bus may have completed a hand-over before it died.
  private func died(mayHaveHandedOver: Bool = false) {
    counts.deaths += 1
    tell("the bus dies")
    if !hasServed { earlyDeaths += 1 }
    bus = nil
    Kernel.liveOn()
    keeping.turnUntilIdle()
    // The bus may just have left its keeper, which is then empty.
    if !keeping.keeperHasLog { doubtFiles() }
    daemonDied(mayHaveHandedOver: mayHaveHandedOver)
    endingsExplained += 1
  }

  /// One client's frames take the bus so long that it leaves some for its next iteration. Only this client has sent,
  /// so the order of the operations is known.
  private func beSlow() throws(Violation) {
    for _ in 0..<6 { try iterate(faults: Faults()) }
    let idle = links.compactMap { $0 }.filter { $0.isOpen && $0.unsentCount == 0 }
    guard let link = idle.randomElement(using: &random) else { return }
    isSlow = true
    for _ in 0..<Int.random(in: 2...20, using: &random) { doSomething(link) }
    link.send()
    Kernel.setClock(Kernel.now, tick: 9_000_000)
    try iterate(faults: Faults())
    Kernel.setClock(Kernel.now)
  }

  /// The longest time that the bus can take for all of those frames.
  static let slowNanoseconds: UInt64 = 1_000_000_000

  func restart() throws(Violation) {
    guard !isPeaceful else { return }
    defer { isSlow = false }
    if random.oneIn(3) { try beSlow() }
    guard bus != nil else { return }
    counts.restarts += 1
    tell("the bus is restarted")
    // The bus now takes the deferred frames.
    let left = isSlow ? readInIteration : []
    beginWork()
    readInIteration = left
    var faults = faults()
    if random.oneIn(10) { faults.noMemory = 1 }
    var isWhole = false
    (commits, isHandingOver) = (Commits(), true)
    try runBus(faults) { isWhole = $0.handOver() }
    isHandingOver = false
    // The bus may have changed keepers before it had sent everything to the new one.
    if faults.keeper > 0 { doubtFiles() }
    guard !Kernel.busIsDead else {
      // The bus may have delivered the idle posts.
      doubtWaiting()
      return died(mayHaveHandedOver: true)
    }
    deliverSoon()
    deliverIdle(olderThan: 0)
    Kernel.liveOn()
    bus = nil
    Kernel.letGoOfSockets()
    keeping.turnUntilIdle()
    // A dead keeper may have lost a part of the hand-over.
    if isKeeperGone { isWhole = false }
    if isWhole, random.oneIn(16) {
      killKeeper()
      isWhole = false
    }
    try handedOver(isWhole: isWhole)
    if random.oneIn(2) { try start() }
  }

  func killKeeper() {
    keeperDied()
    keeping.killKeeper()
  }

  private func keeperDied() {
    tell("the keeper dies")
    doubtFiles()
    isKeeperGone = bus != nil
    if isTakingOver { wasGivenLess() } else if bus == nil { doubtUnstored() }
  }

  func reconfigure() throws(Violation) {
    if bus != nil, random.oneIn(2) { try postBeforeReload() }
    var configuration = setting.configuration
    configuration.deadlineNanoseconds = random.pick([1_500_000_000, 2_000_000_000, 3_000_000_000])
    configuration.delegateTimeoutNanoseconds = random.pick([700_000_000, 1_000_000_000, 1_300_000_000])
    required = random.oneIn(3) ? random.pick(Naming.queryNames) : nil
    holdMax =
      random.oneIn(2)
      ? (random.pick(Naming.queryNames), random.pick([1_000_000_000, 2_000_000_000, 4_000_000_000])) : nil
    configuration.policy.queryRules = []
    do throws(WireError) {
      if let required { configuration.policy.change(try Pattern(required)) { $0.require([.label("guard")]) } }
      if let holdMax {
        configuration.policy.change(try Pattern(holdMax.name)) {
          $0.holdMax = TimeSpan(microseconds: Int64(holdMax.nanoseconds / 1_000))
        }
      }
    } catch {
      preconditionFailure("a name is no pattern: \(error)")
    }
    if setting.isTight { configuration.logMaxBytes = random.pick(Setting.tightLogs) }
    isStrict = random.oneIn(3)
    configuration.access = Self.policy(isStrict: isStrict)
    setting.configuration = configuration
    tell(
      """
      the configuration has a deadline of \(configuration.deadlineNanoseconds / 1_000_000) ms, and requires \
      \(required ?? "nothing")\
      \(holdMax.map { "; \($0.name) may be held for \($0.nanoseconds / 1_000_000) ms" } ?? "")\
      \(isStrict ? "; user 1002 may register nothing" : "")
      """)
    beginWork()
    guard bus != nil else { return }
    try runBus(Faults()) { $0.reconfigure(configuration) }
    endForbidden(isCertain: !Kernel.busIsDead)
    if Kernel.busIsDead { died() }
  }

  static let requiredLabel = "label:guard"
}
