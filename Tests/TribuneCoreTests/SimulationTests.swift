// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("A bus on which everything happens", .timeLimit(.minutes(15)))
struct SimulationTests {
  @Test("Ends every query once, tells everyone who was asked, and is empty in the end", arguments: Seeds.all)
  func invariants(seed: UInt64) {
    let simulation = Simulation(seed: seed)
    for _ in 0..<4000 { simulation.step() }
    simulation.end()
  }

  @Test(
    "Goes on as if nothing had been, when another one takes its place", arguments: Seeds.all.suffix(4),
    Restart.allCases
  )
  func restarting(seed: UInt64, restart: Restart) {
    let simulation = Simulation(seed: seed, restarting: restart)
    let twin = Simulation(seed: seed)
    for _ in 0..<1000 {
      simulation.step()
      twin.step()
    }
    simulation.end()
    twin.end()
    #expect(simulation.restartCount > 5)
    if restart == .replay {
      #expect(simulation.transcript == twin.transcript)
    } else {
      // What ends at the same moment ends in any order.
      #expect(simulation.steps == twin.steps)
    }
  }

  @Test("Does the same again when the same happens", arguments: Seeds.all)
  func replay(seed: UInt64) {
    let transcripts = (0..<2).map { _ in
      let simulation = Simulation(seed: seed)
      for _ in 0..<1000 { simulation.step() }
      simulation.end()
      return simulation.transcript
    }
    #expect(transcripts[0] == transcripts[1])
    #expect(transcripts[0].count > 500)
  }
}

/// Drives a bus at random, and keeps its own plain account of what must be.
private final class Simulation {
  /// A registration in a chain.
  struct Attached {
    let id: UInt64
    let slot: ConnectionSlot
    let serial: Serial
    let object: String
    let order: Int32
    let policy: FailurePolicy
    let patterns: [Pattern]
  }

  /// A standing veto.
  struct Held {
    let id: UInt64
    let slot: ConnectionSlot
    let serial: Serial
    let pattern: Pattern
    let object: String
    let expiry: Instant?
  }

  /// A query under way.
  struct Asked {
    let asker: ConnectionSlot
    let serial: Serial
    let mode: QueryMode
    let fallback: VerdictKind
    let deadline: Instant
    let flags: QueryFlags
    /// The holds at the moment of asking, by id.
    let holds: [UInt64]
    /// The chain at the moment of asking.
    let chain: [Attached]
    /// Delegates that were put the question.
    var questions: Set<UInt64> = []
    /// What they said, first, and in time.
    var answers: [UInt64: AnswerKind] = [:]
    /// Those that were told that nobody waits for them any more.
    var late: Set<UInt64> = []
    var ending: ConclusionKind?
    /// Delegates that learnt the ending.
    var concluded: Set<UInt64> = []

    /// Whether everybody is heard before it ends.
    var isForAll: Bool { mode == .all || mode == .collect || flags.contains(.overrides) }
  }

  private static let objects = ["", "o", "o", "p"]
  private static let names = ["x", "x", "y", "x.y"]
  private static let patterns = [["x"], ["y"], ["x", "y"], ["*"], ["**"], ["x.*"], ["z"]]

  private let bus: BusUnderTest
  private var random: SplitMix64
  private(set) var transcript: [String] = []
  /// The same, sorted step by step.
  private(set) var steps: [[String]] = []
  private let restart: Restart?
  private(set) var restartCount = 0
  private var connected: [ConnectionSlot] = []
  private var attached: [UInt64: Attached] = [:]
  private var held: [UInt64: Held] = [:]
  /// Those that the bus owes the news that another was set in their place.
  private var replaced: Set<Serial> = []
  /// Delegates whose coming and going was announced: only what is observed is.
  private var announced: Set<UInt64> = []
  private var retired: Set<UInt64> = []
  private var came: Set<UInt64> = []
  private var went: Set<UInt64> = []
  private var reported: Set<UInt64> = []
  private var queries: [UInt64: Asked] = [:]
  private var observations: [ConnectionSlot: Set<Serial>] = [:]
  private var lastSerial: Serial = 0
  private var lastDelegate: UInt64 = 0
  private var lastQuery: UInt64 = 0
  /// The answer that is just being given.
  private var said: (serial: Serial, query: UInt64, delegate: UInt64)?
  private let limits: BusLimits
  private var stepCount = 0
  /// What follows the first thing that is wrong says nothing more.
  private var isBroken = false

  init(seed: UInt64, restarting restart: Restart? = nil) {
    self.restart = restart
    random = SplitMix64(seed: seed)
    var limits = BusLimits()
    limits.observationsMax = 10
    limits.delegatesMax = 6
    limits.queriesMax = 8
    limits.delegateTimeout = 400
    limits.deadline = 1500
    self.limits = limits
    bus = BusUnderTest(limits)
    if restart != nil { bus.log = [] }
    bus.onEffect = { [unowned self] in check($0) }
  }

  func step() {
    guard !isBroken else { return }
    stepCount += 1
    switch Int.random(in: 0..<36, using: &random) {
    case 0: if connected.count < 6 { connected.append(bus.connect()) }
    case 1: if random.oneIn(3), let slot = someone() { disconnect(slot) }
    case 2...5: if let slot = someone() { attach(slot, isSet: random.oneIn(8)) }
    case 32...33: if let slot = someone() { hold(slot) }
    case 34:
      if let hold = held.keys.sorted().randomElement(using: &random).flatMap({ held[$0] }) { release(hold) }
    case 6: if let delegate = someDelegate() { detach(delegate) }
    case 7...13: if let slot = someone() { ask(slot) }
    case 14...21: answerSomething()
    case 22: if let slot = someone() { answerStray(slot) }
    case 23...24: deferSomething()
    case 25: cancelSomething()
    case 26: if let slot = someone() { observe(slot) }
    case 27: if let slot = someone() { forget(slot) }
    case 28...30: advance(milliseconds: UInt32.random(in: 0...200, using: &random))
    default: _ = bus.advanceToNextDeadline()
    }
    settle()
    guard let restart, stepCount % 83 == 40 else { return }
    restartCount += 1
    bus.restart(restart)
    settle()
  }

  /// Lets everything run out, and everyone leave.
  func end() {
    while !isBroken, bus.advanceToNextDeadline() { settle() }
    guard !isBroken else { return }
    expect(queries.isEmpty)
    expect(bus.queryCount == 0)
    while let slot = connected.last {
      disconnect(slot)
      settle()
    }
    expect(bus.isEmpty)
  }

  // MARK: What happens

  private func someone() -> ConnectionSlot? { connected.randomElement(using: &random) }

  private func someDelegate() -> Attached? {
    attached.keys.sorted().randomElement(using: &random).flatMap { attached[$0] }
  }

  /// A question that waits for its answer.
  private func someQuestion() -> (query: UInt64, delegate: Attached)? {
    var open: [(query: UInt64, delegate: Attached)] = []
    for id in queries.keys.sorted() {
      for delegate in (queries[id]?.questions ?? []).sorted() where queries[id]?.answers[delegate] == nil {
        if let delegate = attached[delegate] { open.append((id, delegate)) }
      }
    }
    return open.randomElement(using: &random)
  }

  private func makeSerial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  private func disconnect(_ slot: ConnectionSlot) {
    connected.removeAll { $0 == slot }
    for (id, query) in queries where query.asker == slot { queries[id]?.ending = .cancelled }
    attached = attached.filter { $0.value.slot != slot }
    held = held.filter { $0.value.slot != slot }
    observations[slot] = nil
    bus.disconnect(slot)
  }

  private func attach(_ slot: ConnectionSlot, isSet: Bool) {
    let texts = random.pick(Self.patterns)
    let object = random.pick(Self.objects)
    let delegate = Attached(
      id: lastDelegate + 1, slot: slot, serial: makeSerial(), object: object,
      order: Int32.random(in: -2...2, using: &random), policy: random.oneIn(2) ? .veto : .abstain,
      patterns: texts.map { text in
        do throws(WireError) { return try Pattern(text) } catch { preconditionFailure(error.message) }
      })
    let own = attached.values.filter { $0.slot == slot }
    let same = own.first { $0.object == object && $0.patterns == delegate.patterns }
    let before = isSet ? attached.values.filter { $0.object == object && $0.id != same?.id } : []
    let room = own.count + held.values.count { $0.slot == slot } - before.count { $0.slot == slot }
    if same != nil || room < limits.delegatesMax {
      for other in before {
        attached[other.id] = nil
        replaced.insert(other.serial)
      }
    }
    if same == nil, room < limits.delegatesMax {
      lastDelegate += 1
      attached[delegate.id] = delegate
    }
    bus.attach(
      texts, to: object, by: slot, serial: delegate.serial, order: delegate.order, policy: delegate.policy,
      timeout: random.oneIn(2) ? 0 : UInt32.random(in: 1...600, using: &random), isSet: isSet)
    expect(replaced.isEmpty, "those who were replaced were not all told")
  }

  private func hold(_ slot: ConnectionSlot) {
    let serial = makeSerial()
    let (text, object) = (random.pick(["x", "*", "x.**"]), random.pick(Self.objects))
    let span = random.oneIn(2) ? UInt32.random(in: 1...800, using: &random) : nil
    let count = attached.values.count { $0.slot == slot } + held.values.count { $0.slot == slot }
    if count < limits.delegatesMax {
      do throws(WireError) {
        // Holds and delegates share their ids.
        lastDelegate += 1
        held[lastDelegate] = Held(
          id: lastDelegate, slot: slot, serial: serial, pattern: try Pattern(text), object: object,
          expiry: span.map { bus.now.advanced(byMilliseconds: $0) })
      } catch {
        preconditionFailure(error.message)
      }
    }
    bus.hold(text, object: object, for: span, by: slot, serial: serial)
  }

  private func release(_ hold: Held) {
    held[hold.id] = nil
    bus.cancel(hold.serial, by: hold.slot, serial: makeSerial())
  }

  private func detach(_ delegate: Attached) {
    attached[delegate.id] = nil
    bus.cancel(delegate.serial, by: delegate.slot, serial: makeSerial())
  }

  private func ask(_ slot: ConnectionSlot) {
    let (name, object) = (random.pick(Self.names), random.pick(Self.objects))
    let deadline = random.oneIn(2) ? 0 : UInt32.random(in: 1...2000, using: &random)
    let chain = attached.values
      .filter { delegate in
        (delegate.object.isEmpty || delegate.object == object)
          && delegate.patterns.contains { $0.matches(name.utf8Bytes) }
      }
      .sorted { ($0.order, $0.id) < ($1.order, $1.id) }
    let mode = random.pick([QueryMode.parallel, .parallel, .all, .order, .first, .collect])
    var flags: QueryFlags = random.oneIn(6) ? .isDryRun : []
    if random.oneIn(6), !mode.isForValues { flags.insert(.overrides) }
    if random.oneIn(3) { flags.insert(.tellsProgress) }
    let holds = held.values.filter { hold in
      hold.pattern.matches(name.utf8Bytes) && (hold.object.isEmpty || hold.object == object)
    }
    let query = Asked(
      asker: slot, serial: makeSerial(), mode: mode, fallback: random.oneIn(2) ? .allowed : .vetoed,
      deadline: bus.now.advanced(byMilliseconds: deadline == 0 ? limits.deadline : deadline), flags: flags,
      holds: mode.isForValues ? [] : holds.map(\.id).sorted(), chain: chain)
    if queries.values.count(where: { $0.asker == slot }) < limits.queriesMax {
      lastQuery += 1
      queries[lastQuery] = query
    }
    bus.ask(
      name, object: object, by: slot, serial: query.serial, mode: query.mode, fallback: query.fallback,
      deadline: deadline, text: random.text(), flags: flags,
      because: flags.contains(.overrides) ? "must" : "")
  }

  private func answerSomething() {
    guard let (query, delegate) = someQuestion() else { return }
    let answer = random.pick([AnswerKind.approve, .approve, .approve, .veto, .abstain, .failed, .value])
    say(answer, query, delegate.id, from: delegate.slot)
  }

  /// Answers something that this connection was perhaps never asked, or not in this query, or long ago.
  private func answerStray(_ slot: ConnectionSlot) {
    let query = UInt64.random(in: 0...lastQuery + 1, using: &random)
    let delegate = UInt64.random(in: 0...lastDelegate + 1, using: &random)
    if queries[query]?.questions.contains(delegate) == true, attached[delegate]?.slot == slot,
      queries[query]?.answers[delegate] == nil
    {
      say(.veto, query, delegate, from: slot)
    } else {
      bus.answer(.veto, "stray", query: query, delegate: delegate, from: slot, serial: makeSerial())
    }
  }

  private func say(_ answer: AnswerKind, _ query: UInt64, _ delegate: UInt64, from slot: ConnectionSlot) {
    let serial = makeSerial()
    said = (serial, query, delegate)
    queries[query]?.answers[delegate] = answer
    bus.answer(answer, "said", query: query, delegate: delegate, from: slot, serial: serial)
    said = nil
  }

  private func deferSomething() {
    guard let (query, delegate) = someQuestion() else { return }
    bus.deferAnswer(
      UInt32.random(in: 0...3000, using: &random), query: query, delegate: delegate.id, from: delegate.slot,
      serial: makeSerial())
  }

  private func cancelSomething() {
    guard let id = queries.keys.sorted().randomElement(using: &random), let query = queries[id] else {
      return
    }
    bus.cancel(query.serial, by: query.asker, serial: makeSerial())
  }

  private func observe(_ slot: ConnectionSlot) {
    let serial = makeSerial()
    if observations[slot, default: []].count < limits.observationsMax {
      observations[slot, default: []].insert(serial)
    }
    bus.observe(random.pattern(), object: random.object(), by: slot, serial: serial)
  }

  private func forget(_ slot: ConnectionSlot) {
    guard let serial = observations[slot]?.sorted().randomElement(using: &random) else { return }
    observations[slot]?.remove(serial)
    bus.cancel(serial, by: slot, serial: makeSerial())
  }

  private func advance(milliseconds: UInt32) { bus.advance(milliseconds: milliseconds) }

  // MARK: What must be

  private func expect(
    _ holds: Bool, _ what: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if !holds { fail(what(), sourceLocation: sourceLocation) }
  }

  private func fail(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) {
    guard !isBroken else { return }
    isBroken = true
    Issue.record("in step \(stepCount): \(what)", sourceLocation: sourceLocation)
  }

  private func check(_ effect: Effect) {
    switch effect {
    case .spent: expect(false)
    case .question(let slot, let serial, _, let question, _): check(question, to: slot, serial: serial)
    case .verdict(let slot, let serial, let decision, _): check(decision.verdict, to: slot, serial: serial)
    case .concluded(let slot, let serial, let concluded, _): check(concluded, to: slot, serial: serial)
    case .refusal(let slot, let serial, let error) where error.code == .cancelled:
      let query = queries.first { $0.value.asker == slot && $0.value.serial == serial }
      expect(query?.value.ending == nil)
      if let id = query?.key { queries[id]?.ending = .cancelled }
    case .refusal(_, let serial, let error) where error.code == .notAsked && serial == said?.serial:
      // Its time was over. The verdict must say so, whatever it says now.
      guard let said else { return }
      queries[said.query]?.answers[said.delegate] = nil
      queries[said.query]?.late.insert(said.delegate)
    case .refusal(let slot, _, let error):
      expect([.notAsked, .limitExceeded].contains(error.code))
      expect(connected.contains(slot))
    case .okay(let slot, _, _): expect(connected.contains(slot))
    case .progress(let slot, let serial, let progress, _, _):
      let query = queries[progress.query.rawValue]
      expect(query?.asker == slot && query?.serial == serial && query?.ending == nil)
      if let query { expect(progress.timeout <= query.deadline.milliseconds(since: bus.now)) }
      if progress.stage != .deferred { expect(query?.flags.contains(.tellsProgress) == true) }
    case .ended(_, let serial, .replaced): expect(replaced.remove(serial) != nil)
    case .ended(let slot, let serial, .expired):
      let hold = held.values.first { $0.slot == slot && $0.serial == serial }
      guard let hold, let expiry = hold.expiry else { return fail("hold \(serial) expires, which is none") }
      expect(expiry <= bus.now)
      held[hold.id] = nil
    case .announcement(.didAttach(let entry)):
      expect(announced.insert(entry.delegate.id.rawValue).inserted, "somebody attaches twice")
    case .announcement(.didDetach(let entry)):
      expect(retired.insert(entry.delegate.id.rawValue).inserted, "somebody detaches twice")
    case .notification, .held, .retained, .awaited, .kept, .forgotten, .waiting, .waitsNoMore:
      fail("nobody posts here")
    case .announcement(.didConnect(let id, _)):
      expect(came.insert(id.rawValue).inserted, "somebody connects twice")
    case .announcement(.didDisconnect(let id, _, _)):
      expect(went.insert(id.rawValue).inserted, "somebody disconnects twice")
    case .announcement(.didTake(let entry)):
      expect(announced.insert(entry.delegate.id.rawValue).inserted, "a hold is taken twice")
    case .announcement(.didRelease(let entry, _)):
      expect(retired.insert(entry.delegate.id.rawValue).inserted, "a hold is released twice")
    case .announcement(.didConclude(let ending)):
      expect(queries[ending.query.rawValue]?.flags.contains(.isDryRun) == false)
      expect(
        reported.insert(ending.query.rawValue).inserted, "query \(ending.query.rawValue) concludes twice")
    case .announcement(.willStop): fail("nobody stops it")
    }
  }

  private func check(_ question: Question, to slot: ConnectionSlot, serial: Serial) {
    let (id, delegate) = (question.query.rawValue, question.delegate.rawValue)
    guard let query = queries[id] else {
      fail("delegate \(delegate) is asked in query \(id), which is none")
      return
    }
    expect(query.ending == nil, "query \(id) goes on after its end")
    expect(attached[delegate]?.slot == slot && attached[delegate]?.serial == serial)
    expect(query.chain.contains { $0.id == delegate }, "delegate \(delegate) was not in the chain")
    expect(!query.questions.contains(delegate), "delegate \(delegate) is asked twice")
    expect(question.timeout <= query.deadline.milliseconds(since: bus.now))
    if query.mode.isSequential {
      expect(
        query.chain.first { !query.questions.contains($0.id) && attached[$0.id] != nil }?.id == delegate)
    }
    if query.mode == .order, !query.isForAll { expect(!query.answers.values.contains(.veto)) }
    if query.mode == .first { expect(!query.answers.values.contains(.value)) }
    if !query.isForAll { expect(query.holds.isEmpty, "somebody is asked for what is held") }
    expect(question.isDryRun == query.flags.contains(.isDryRun))
    expect(question.wantsValue == query.mode.isForValues)
    queries[id]?.questions.insert(delegate)
  }

  private func check(_ verdict: Verdict, to slot: ConnectionSlot, serial: Serial) {
    let id = verdict.query.rawValue
    guard let query = queries[id] else {
      fail("a verdict on query \(id), which is none")
      return
    }
    expect(query.asker == slot && query.serial == serial && connected.contains(slot))
    expect(query.ending == nil, "query \(id) has two ends")
    queries[id]?.ending = verdict.verdict == .allowed ? .allowed : .vetoed

    expect(
      verdict.outcomes.prefix(query.holds.count).map(\.delegate.id.rawValue) == query.holds,
      "holds come first, the oldest before")
    let outcomes = verdict.outcomes.dropFirst(query.holds.count)
    let delegates = outcomes.map(\.delegate.id.rawValue)
    let chain = query.chain.map(\.id)
    expect(delegates == chain.filter(delegates.contains), "outcomes are in the chain's order, each once")
    if query.isForAll { expect(delegates == chain) }
    var (hasVeto, hasConsent) = (!query.holds.isEmpty, false)
    for outcome in outcomes {
      let delegate = outcome.delegate.id.rawValue
      let said = query.answers[delegate]
      switch outcome.outcome {
      case .approved: expect(said == .approve)
      case .vetoed: expect(said == .veto)
      case .abstained: expect(said == .abstain)
      case .answered: expect(said == .value && query.mode.isForValues)
      case .failed: expect(said == .failed || said == .value && !query.mode.isForValues)
      case .gone: expect(said == nil && attached[delegate] == nil)
      case .timedOut: expect(said == nil)
      case .held: fail("a delegate is no hold")
      }
      if query.late.contains(delegate) { expect(outcome.outcome == .timedOut) }
      let policy = query.chain.first { $0.id == delegate }?.policy
      hasConsent = hasConsent || outcome.outcome == (query.mode.isForValues ? .answered : .approved)
      hasVeto =
        hasVeto || outcome.outcome == .vetoed
        || ([.failed, .gone, .timedOut].contains(outcome.outcome) && policy == .veto)
    }
    expect(verdict.isDryRun == query.flags.contains(.isDryRun))
    if query.mode.isForValues {
      expect(verdict.verdict == (hasConsent ? .allowed : .vetoed))
      if !hasConsent { expect(delegates == chain, "without a value, everyone is waited for") }
      return
    }
    let isOverridden = hasVeto && query.flags.contains(.overrides)
    expect(verdict.isOverridden == isOverridden)
    expect(
      verdict.verdict
        == (isOverridden ? .allowed : hasVeto ? .vetoed : hasConsent ? .allowed : query.fallback))
    expect(verdict.isUnanswered == !(hasVeto || hasConsent))
    if !hasVeto { expect(delegates == chain, "without a veto, everyone is waited for") }
    for (delegate, answer) in query.answers where answer == .veto {
      expect(delegates.contains(delegate), "a veto is sticky")
    }
  }

  private func check(_ concluded: Concluded, to slot: ConnectionSlot, serial: Serial) {
    let (id, delegate) = (concluded.query.rawValue, concluded.delegate.rawValue)
    expect(attached[delegate]?.slot == slot && attached[delegate]?.serial == serial)
    expect(queries[id]?.ending == concluded.conclusion)
    expect(queries[id]?.questions.contains(delegate) == true, "delegate \(delegate) was never asked")
    expect(queries[id]?.concluded.insert(delegate).inserted == true, "delegate \(delegate) is told twice")
  }

  /// What holds between two events.
  private func settle() {
    let lines = bus.take()
    transcript += lines
    if !lines.isEmpty { steps.append(lines.sorted()) }
    for (id, query) in queries where query.ending != nil {
      let owed = query.questions.filter { attached[$0] != nil }
      expect(query.concluded == owed, "query \(id) is over, but not for everyone")
      queries[id] = nil
    }
    expect(bus.queryCount == queries.count)
    expect(bus.delegateCount == attached.count)
    expect(bus.bus.holdCount == held.count)
    expect(bus.observationCount == observations.values.reduce(0) { $0 + $1.count })
    for slot in connected {
      let counts = bus.counts(at: slot)
      expect(counts.queries == queries.values.count { $0.asker == slot })
      expect(counts.delegates == attached.values.count { $0.slot == slot })
      expect(counts.observations == observations[slot]?.count ?? 0)
    }
    let isOverdue = bus.nextDeadline.map { $0 < bus.now } ?? false
    expect(!isOverdue)
    for query in queries.values {
      expect(query.deadline >= bus.now && query.ending == nil)
      if let next = bus.nextDeadline { expect(next <= query.deadline) }
    }
  }
}
