// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite struct LinkStateTests {
  private let now = ContinuousClock.now
  private let broken = TribuneError(.connectionLost, "writing failed")

  @Test(arguments: [
    (
      "connecting",
      ["open", "connecting", "connecting", "connecting", "connecting", "ended cancelled", "ended"]
    ),
    ("open", ["open", "open", "interrupted", "open", "closing", "open", "ended"]),
    (
      "interrupted",
      ["interrupted", "interrupted", "", "open", "interrupted, closing", "interrupted", "ended"]
    ),
    (
      "interrupted, closing",
      ["interrupted, closing", "interrupted, closing", "", "closing", "", "interrupted, closing", "ended"]
    ),
    ("closing", ["closing", "closing", "closing", "closing", "closing", "closing", "ended"]),
    ("ended", ["ended", "ended", "ended", "ended", "ended", "ended", "ended"]),
  ])
  func eachEventLeadsToAPhaseThatMayFollow(_ phase: String, _ next: [String]) {
    let events: [(inout LinkState) -> Void] = [
      { _ = $0.receive(welcome(8), acceptsFiles: true) }, { $0.handleFailedWrite(broken) },
      { _ = $0.endOfStream(received: 0) },
      { if $0.finishOldConnection() != nil { _ = $0.reopen(at: now) } },
      { _ = $0.close(by: now) }, { _ = $0.stopConnecting() }, { _ = $0.end(nil) },
    ]
    for (event, next) in zip(events, next) where !next.isEmpty {
      var state = phase == "connecting" ? LinkState(reconnectTimeout: .seconds(1)) : openState()
      switch phase {
      case "interrupted": _ = state.endOfStream(received: 0)
      case "interrupted, closing":
        _ = state.endOfStream(received: 0)
        _ = state.close(by: now)
      case "closing": _ = state.close(by: now)
      case "ended": _ = state.end(nil)
      default: break
      }
      #expect(state.word == phase)
      event(&state)
      #expect(state.word == next)
    }
  }

  @Test func aWelcomeOpensTheConnectionOnce() {
    var state = LinkState(reconnectTimeout: .seconds(1))
    #expect(state.word == "connecting")
    _ = state.receive(welcome(7), acceptsFiles: true)
    #expect(state.word == "open")
    #expect(state.session?.connection == ConnectionID(rawValue: 7) && state.session?.acceptsFiles == true)
    _ = state.receive(welcome(8), acceptsFiles: false)
    #expect(state.session?.connection == ConnectionID(rawValue: 7))
  }

  @Test func aWelcomeAfterTheEndChangesNothing() {
    var state = LinkState(reconnectTimeout: .seconds(1))
    _ = state.end(.taskCancelled)
    _ = state.receive(welcome(7), acceptsFiles: true)
    #expect(state.word == "ended cancelled" && state.session == nil)
  }

  @Test func theEndOfTheStreamInterruptsOnlyAConnectionThatIsOpen() {
    var state = openState()
    #expect(state.endOfStream(received: 0).word == "reconnect")
    #expect(state.word == "interrupted")

    var impatient = openState(reconnectTimeout: .zero)
    #expect(impatient.endOfStream(received: 0).word == "end connectionLost")

    var connecting = LinkState(reconnectTimeout: .seconds(1))
    #expect(connecting.endOfStream(received: 0).word == "connect again")

    var closing = openState()
    #expect(closing.close(by: now) == true)
    #expect(closing.endOfStream(received: 0).word == "end")
    #expect(closing.word == "closing")

    var ended = openState()
    _ = ended.end(nil)
    #expect(ended.endOfStream(received: 0).word == "end")
    #expect(ended.word == "ended")
  }

  @Test func aConnectionThatHasEndedIsNotReopened() throws {
    var state = openState()
    _ = state.endOfStream(received: 0)
    #expect(state.finishOldConnection() != nil)
    _ = state.end(nil)
    #expect(state.reopen(at: now) == nil)
    #expect(state.word == "ended")
  }

  @Test func aFailedWriteEndsItsOwnConnectionOnly() {
    var state = openState()
    state.handleFailedWrite(broken)
    #expect(state.handleClosingError(.closed, .restarted) == false)
    #expect(state.endOfStream(received: 0).word == "end connectionLost: writing failed")

    var survivor = openState()
    _ = survivor.endOfStream(received: 0)
    survivor.handleFailedWrite(broken)
    #expect(survivor.finishOldConnection() != nil)
    #expect(survivor.reopen(at: now) != nil)
    #expect(survivor.word == "open")
    #expect(survivor.endOfStream(received: 0).word == "reconnect")

    var closing = openState()
    closing.handleFailedWrite(broken)
    #expect(closing.close(by: now) == true)
    #expect(closing.endOfStream(received: 0).word == "end connectionLost: writing failed")
  }

  @Test(arguments: [
    (ErrorCode.restarted, false, false), (.shuttingDown, true, false), (.tooManyConnections, true, false),
    (.outOfMemory, true, false), (.helloTimeout, true, false), (.tooSlow, true, true),
  ])
  func theBusesLastErrorDecidesWhetherTheClientReconnects(
    _ code: ErrorCode, isFinalWhenOpen: Bool, isFinalWhenInterrupted: Bool
  ) {
    var state = openState()
    #expect(state.handleClosingError(.closed, code) == isFinalWhenOpen)
    var impatient = openState(reconnectTimeout: .zero)
    #expect(impatient.handleClosingError(.closed, code) == true)
    var endless = openState(reconnectTimeout: nil)
    #expect(endless.handleClosingError(.closed, code) == (isFinalWhenOpen && code != .shuttingDown))
    _ = state.endOfStream(received: 0)
    #expect(state.handleClosingError(broken, code) == isFinalWhenInterrupted)
    #expect((state.interruption?.failure == nil) == isFinalWhenInterrupted)
    #expect(state.close(by: now) == true)
    #expect(state.word == "interrupted, closing")
  }

  @Test func closingEndsWritingOnceNobodyWritesAndStopsAtItsDeadline() throws {
    var state = openState()
    let duty = try post(&state)
    let batch = try #require(duty?.batch)
    #expect(state.close(by: now.advanced(by: .seconds(5))) == true)
    #expect(state.close(by: now.advanced(by: .seconds(9))) == false)
    #expect(state.nextStep(at: now).word == "close")
    #expect(state.wrote(batch, bytes: 0, .whole).wake == true)
    #expect(state.nextStep(at: now).word == "close, end writing")
    #expect(state.nextStep(at: now).word == "close")
    #expect(state.nextStep(at: now.advanced(by: .seconds(5))).word == "end")
  }

  @Test(arguments: [true, false])
  func closingBetweenTwoConnectionsWaitsForPostsUntilTheDeadline(hasPosts: Bool) throws {
    var state = openState()
    _ = state.endOfStream(received: 0)
    #expect(state.finishOldConnection() != nil)
    if hasPosts { _ = try post(&state) }
    #expect(state.close(by: now.advanced(by: .seconds(5))) == true)
    #expect(!state.isAsking && state.isServing)
    let due = state.takeDue(at: now)
    #expect(due.isOver == !hasPosts)
    guard hasPosts else { return }
    #expect(due.next == now.advanced(by: .seconds(5)))
    #expect(state.takeDue(at: now.advanced(by: .seconds(5))).isOver)
    #expect(state.reopen(at: now) != nil)
    #expect(state.word == "closing")
  }

  @Test func aBurstOfPostsIsLeftToTheThread() throws {
    var outbox = Outbox(survives: true)
    for serial in 1...16 as ClosedRange<Serial> {
      let duty = outbox.append(Post(), .init(name: "a"), serial: serial, at: 5)
      let written = outbox.wrote(try #require(duty.batch), bytes: 0, .whole)
      #expect(!written.wake)
    }
    let duty = outbox.append(Post(), .init(name: "a"), serial: 17, at: 5)
    #expect(duty.isWake)
    let left = outbox.nextForThread()
    _ = outbox.wrote(try #require(left), bytes: 0, .whole)
    let nothing = outbox.nextForThread()
    #expect(nothing == nil && outbox.isIdle)
    let next = outbox.append(Post(), .init(name: "a"), serial: 18, at: 6)
    #expect(next.batch != nil)
  }

  @Test func theThreadContinuesWhatACallerCouldNotWrite() throws {
    var outbox = Outbox(survives: true)
    let duty = outbox.append(Post(), .init(name: "a"), serial: 1)
    let batch = try #require(duty.batch)
    let second = outbox.append(Post(), .init(name: "b"), serial: 2)
    #expect(second.batch == nil)
    let written = outbox.wrote(batch, bytes: 0, .outOfResources)
    #expect(written.wake && outbox.isOutOfResources && !outbox.isStuck && !outbox.isIdle)
    let next = outbox.nextForThread()
    #expect(next === batch)
    _ = outbox.wrote(batch, bytes: 0, .stuck)
    #expect(outbox.isStuck && !outbox.isOutOfResources)
  }

  @Test func framesForABrokenConnectionAreDropped() throws {
    var outbox = Outbox(survives: false)
    let duty = outbox.append(Post(), .init(name: "a"), serial: 1)
    let written = outbox.wrote(try #require(duty.batch), bytes: 0, .failed(.connectionReset))
    #expect(!written.wake)
    let second = outbox.append(Post(), .init(name: "b"), serial: 2)
    #expect(second.batch == nil && outbox.unwritten == 0 && outbox.isIdle && !outbox.hasUnsent)
  }

  @Test(arguments: ["pending", "stuck", "being written"])
  func anEndedConnectionReleasesWhatWasNotSent(_ place: String) throws {
    var state = openState()
    if place == "pending" { _ = try post(&state) }
    var file: MemoryFile? = try MemoryFile(holding: [UInt8](repeating: 0, count: 9).rawBytes)
    let isReleased = { [weak file] in file == nil }
    var batch = try state.post(Post(length: 9), Link.Message(name: "a.b", file: file), at: nil)?.batch
    file = nil
    if place == "stuck", let batch { _ = state.wrote(batch, bytes: 0, .stuck) }
    apply(state.end(nil))
    if place == "being written", let batch { _ = state.wrote(batch, bytes: 0, .stuck) }
    batch = nil
    #expect(isReleased() && state.outbox.unwritten == 0)
  }

  /// 0 stands for the bus's default.
  @Test(arguments: [1000, 0] as [UInt32])
  func aRequestThatTheBusCannotHaveReceivedWaitsUntilItsOwnDeadline(milliseconds: UInt32) async throws {
    var state = openState()
    let deadline = now.advanced(by: milliseconds == 0 ? .seconds(30) : .seconds(1))
    let result = await Reply<Response>.wait { reply -> Response? in
      let batch = ask(&state, reply, serial: 1, deadline: milliseconds, at: now).batch
      _ = state.endOfStream(received: 0)
      #expect(state.finishOldConnection() == nil)
      if let batch { #expect(state.wrote(batch, bytes: 0, .stuck).wake == true) }
      for milliseconds in [400, 800] {
        let later = now.advanced(by: .milliseconds(milliseconds))
        #expect(state.finishOldConnection()?.isEmpty == true)
        let due = state.takeDue(at: later)
        #expect(due.actions.isEmpty && due.next == deadline)
        guard milliseconds == 400 else { break }
        #expect(state.reopen(at: now.advanced(by: .milliseconds(600))) != nil)
        if let batch = state.outbox.nextForThread() { _ = state.wrote(batch, bytes: 0, .stuck) }
        _ = state.endOfStream(received: 0)
      }
      apply(state.takeDue(at: deadline).actions)
      apply(state.end(broken))
      return nil
    }
    #expect(result.failure == .notSentInTime)
  }

  @Test func takingBackBeforeTheInterruptionIsSettledIsConfirmedByTheNextBus() async throws {
    var state = openState()
    let declaration = try await declare(&state)
    let result = await Reply<Response>.wait { reply -> Response? in
      _ = state.endOfStream(received: 0)
      let actions = state.takeBack(declaration, reply)
      #expect(actions?.count == 1)
      apply(state.finishOldConnection() ?? [])
      #expect(state.reopen(at: now) != nil)
      #expect(state.outbox.hasUnsent, "the next bus is not asked")
      confirmAll(&state)
      return nil
    }
    #expect(result.failure == nil)
  }

  @Test func takingBackTwiceChangesNothingAndIsNotWaitedFor() async throws {
    var state = openState()
    let declaration = try await declare(&state)
    let result = await Reply<Response>.wait { reply -> Response? in
      #expect(state.takeBack(declaration, reply) != nil)
      #expect(state.takeBack(declaration, reply) == nil)
      apply(state.end(nil))
      return nil
    }
    #expect(result.failure == .closed)
  }

  @Test func acknowledgementsAndDeferralsAreForTheConnectionThatAskedForThem() async throws {
    var state = openState()
    let delegate = Nobody()
    let attached = AttachedDelegate(delegate, object: "", patterns: [], renewal: Attach(patterns: []))
    let serial = try await register(&state, Attach(patterns: ["a.should"]), .attachment(attached))
    let question = Tribune.Question("a.should", query: 5, delegate: 3)
    let asked = state.receive(question, attachment: serial)
    #expect(asked.delegate === delegate)
    _ = try state.deferAnswer(to: question, by: 1, status: [])
    let done = Done(poster: ConnectionID(rawValue: 9), post: 1)
    let before = state.outbox.unwritten
    _ = state.acknowledge(done, reason: [], in: 0)
    let after = state.outbox.unwritten
    #expect(after > before)
    _ = state.endOfStream(received: 0)
    _ = state.acknowledge(done, reason: [], in: 0)
    #expect(state.outbox.unwritten == after)
    #expect(throws: TribuneError.self) { try state.deferAnswer(to: question, by: 1, status: []) }
  }

  @Test(arguments: [false, true])
  func aCallWaitsForCapacityUntilItsDeadlineAtMost(isInterrupted: Bool) async throws {
    var state = openState()
    let long = Link.Message(name: "a.b", payload: [UInt8](repeating: 0, count: 1 << 20))
    let duty = try state.post(Post(), long, at: nil)
    let batch = try #require(duty?.batch)
    let second = try state.post(Post(), long, at: nil)
    #expect(second == nil)
    if isInterrupted {
      _ = state.endOfStream(received: 0)
      _ = state.wrote(batch, bytes: 0, .stuck)
      #expect(state.finishOldConnection() != nil)
    }
    let deadline = now.advanced(by: .seconds(1))
    let result = await Reply<Void>.wait { reply throws(TribuneError) -> Void? in
      let id = state.nextSerial()
      let ready: Void? = try state.awaitCapacity(id, until: deadline, reply)
      #expect(ready == nil)
      if isInterrupted {
        let early = state.takeDue(at: now)
        #expect(early.actions.isEmpty && early.next == deadline)
        apply(state.takeDue(at: deadline).actions)
      } else {
        #expect(state.outbox.nextCapacityDeadline == deadline)
        apply([state.failOverdue(at: now), state.failOverdue(at: deadline)])
      }
      return nil
    }
    #expect(result.failure == .notSentInTime)
    #expect(state.outbox.nextCapacityDeadline == nil)
  }

  @Test(arguments: ["settling", "abandoning", "closing"])
  func droppingFramesMakesCapacityForTheCallsThatWaitForIt(_ event: String) async throws {
    var state = openState()
    let batch = try #require(try post(&state)?.batch)
    let done = Done(poster: ConnectionID(rawValue: 9), post: 1)
    let long = [UInt8](repeating: 0, count: 2 << 20)
    if event == "settling" { _ = state.acknowledge(done, reason: long, in: 0) }
    _ = state.endOfStream(received: 0)
    _ = state.wrote(batch, bytes: 0, .stuck)
    if event != "settling" {
      #expect(state.finishOldConnection()?.isEmpty == true)
      _ = state.acknowledge(done, reason: long, in: 1)
    }
    let result = await Reply<Void>.wait { reply throws(TribuneError) -> Void? in
      let id = state.nextSerial()
      let ready: Void? = try state.awaitCapacity(id, until: nil, reply)
      #expect(ready == nil)
      switch event {
      case "settling": apply(state.finishOldConnection() ?? [])
      case "abandoning": apply(state.abandonRenewal(isWelcomed: false, because: broken))
      default:
        #expect(state.close(by: now.advanced(by: .seconds(5))) == true)
        apply(state.takeDue(at: now).actions)
      }
      apply(state.end(broken))
      return nil
    }
    #expect(result.failure == nil)
  }

  @Test(arguments: ["lost", "lost twice", "ended"])
  func joiningAnObservationWaitsUntilTheNextBusHasConfirmedIt(_ event: String) async throws {
    var state = openState()
    let key = LinkState.ObservationKey(
      pattern: "", object: ExactText(""), suspension: .coalesce, isAwaited: false)
    _ = await Reply<Void>.wait { reply throws(TribuneError) -> Void? in
      let observed = try state.observe(key, nil, into: DeliveryStream(limit: 1), reply)
      if let batch = observed.duty.batch { _ = state.wrote(batch, bytes: 0, .whole) }
      confirmAll(&state)
      return nil
    }
    _ = state.endOfStream(received: 0)
    #expect(state.finishOldConnection() != nil)
    if event == "lost twice" {
      _ = state.beginRenewal()
      confirmAll(&state)
      apply(state.abandonRenewal(isWelcomed: true, because: broken))
    }
    let result = await Reply<Void>.wait { reply throws(TribuneError) -> Void? in
      let observed = try state.observe(key, nil, into: DeliveryStream(limit: 1), reply)
      #expect(!observed.isLive)
      if observed.isLive { return () }
      if event != "ended" {
        _ = state.beginRenewal()
        confirmAll(&state)
      }
      apply(state.end(broken))
      return nil
    }
    #expect(result.failure == (event == "ended" ? broken : nil))
  }

  @Test(arguments: [(2000, false), (2000, true), (900, true)])
  func whatTheNextBusDoesNotAcceptIsNotSentToIt(_ length: Int, isFile: Bool) async throws {
    var state = openState()
    _ = state.endOfStream(received: 0)
    #expect(state.finishOldConnection() != nil)
    let payload = [UInt8](repeating: 0, count: length)
    let file = isFile ? try MemoryFile(holding: payload.rawBytes) : nil
    let message = Link.Message(name: "a.b", payload: isFile ? [] : payload, file: file)
    let fields = Post(length: isFile ? UInt32(length) : 0)
    let result = await Reply<Response>.wait { reply throws(TribuneError) -> Response? in
      _ = try state.post(fields, message, at: nil)
      let serial = state.nextSerial()
      _ = try state.enqueue(.plain, reply, fields, message, flags: .acknowledge, serial: serial, at: now)
      _ = state.beginRenewal()
      _ = state.receive(welcome(8, payloadMax: 1000), acceptsFiles: false)
      apply(state.reopen(at: now)?.actions ?? [])
      #expect(!state.outbox.hasUnsent && state.outbox.unwritten == 0)
      apply(state.end(broken))
      return nil
    }
    #expect(result.failure?.code == .payloadTooLong)
  }

  @Test func eachLostConnectionIsAskedWhatWasMissed() throws {
    var state = openState()
    _ = state.endOfStream(received: 3)
    #expect(state.finishOldConnection() != nil)
    for id in 8...12 as ClosedRange<UInt64> {
      _ = state.beginRenewal()
      _ = state.receive(welcome(id), acceptsFiles: true)
      #expect(state.deferLoss(of: 5) == true)
      apply(state.abandonRenewal(isWelcomed: true, because: broken))
    }
    let interruption = try #require(state.interruption)
    #expect(interruption.predecessors.map(\.predecessor.rawValue) == [9, 10, 11, 12])
    #expect(interruption.missed == 0 && !interruption.isLossKnown)
    _ = state.beginRenewal()
    _ = state.receive(welcome(13), acceptsFiles: true)
    #expect(state.interruption?.successions == 4)
    confirmAll(&state)
    #expect(state.interruption?.successions == 0)
    #expect(state.deferLoss(of: 2) == true)
    let reopening = state.reopen(at: now)
    #expect(reopening?.missed == 2 && reopening?.isLossKnown == false)
    #expect(state.deferLoss(of: 1) == false)
  }

  @Test(arguments: [true, false])
  func onlyTheRefusalOfWhatIsStillRegisteredEndsTheConnection(isTakenBack: Bool) async throws {
    var state = openState()
    let declaration = try await declare(&state)
    _ = await Reply<Response>.wait { reply -> Response? in
      _ = state.endOfStream(received: 0)
      #expect(state.finishOldConnection() != nil)
      _ = state.beginRenewal()
      if isTakenBack { #expect(state.takeBack(declaration, reply) != nil) }
      let actions = state.receiveRefusal(of: declaration, TribuneError(.refused, "no"), now: 0)
      #expect(state.word == (isTakenBack ? "interrupted" : "ended refused"))
      apply(actions + state.end(nil))
      return isTakenBack ? nil : .okay(Okay())
    }
  }

  @Test func aCancellationThatComesAfterTheConfirmationLeavesTheRegistration() async throws {
    var state = openState()
    let declaration = try await declare(&state)
    for _ in 0..<2 {
      _ = state.endOfStream(received: 0)
      #expect(state.finishOldConnection() != nil)
      _ = state.beginRenewal()
      #expect(state.cancel(declaration, tellsBus: true).isEmpty)
      confirmAll(&state)
      #expect(state.reopen(at: now) != nil)
    }
    _ = state.endOfStream(received: 0)
    #expect(state.finishOldConnection() != nil)
    _ = state.beginRenewal()
    apply(state.receiveRefusal(of: declaration, TribuneError(.refused, "no"), now: 0))
    #expect(state.word == "ended refused", "the link did not renew the registration")
  }

  @Test func pausesBetweenAttemptsGrowAlsoOverConnectionsThatDoNotLast() {
    var looking = Reconnection(within: .seconds(9), after: nil, at: now)
    #expect(looking.pause == .zero)
    for _ in 0..<3 { looking.waitForNext(at: now) }
    #expect(looking.pause == .milliseconds(40))
    for _ in 0..<9 { looking.waitForNext(at: now) }
    #expect(looking.pause == .seconds(1))
    let soon = Reconnection(
      within: .zero, after: (now, .milliseconds(40)), at: now.advanced(by: .milliseconds(9)))
    #expect(soon.pause == .milliseconds(80))
    let late = Reconnection(within: .zero, after: (now, .milliseconds(40)), at: now.advanced(by: .seconds(1)))
    #expect(late.pause == .zero)
  }
}

func welcome(_ id: UInt64, payloadMax: UInt32 = 1 << 20) -> Welcome {
  Welcome(
    connection: ConnectionID(rawValue: id), payloadMax: payloadMax, observationsMax: 9, delegatesMax: 9,
    queriesMax: 9, deadlineMax: 60_000, deadlineDefault: 30_000, busPID: 1, software: "test")
}

private func openState(reconnectTimeout: Duration? = .seconds(1)) -> LinkState {
  var state = LinkState(reconnectTimeout: reconnectTimeout)
  _ = state.receive(welcome(7), acceptsFiles: true)
  return state
}

private func post(_ state: inout LinkState) throws(TribuneError) -> Outbox.Duty? {
  try state.post(Post(), Link.Message(name: "a.b"), at: nil)
}

private func register(
  _ state: inout LinkState, _ fields: some FrameFields, _ registration: LinkEntry.Registration
) async throws(TribuneError) -> Serial {
  let serial = state.nextSerial()
  _ = try await Reply<Response>.wait { reply throws(TribuneError) -> Response? in
    let duty = try state.enqueue(
      .registration(registration), reply, fields, Link.Message(object: "a"), serial: serial, at: .now)
    if let batch = duty.batch { _ = state.wrote(batch, bytes: 0, .whole) }
    apply([state.receive(.okay(Okay()), to: serial)])
    return nil
  }.get()
  return serial
}

private func declare(_ state: inout LinkState) async throws(TribuneError) -> Serial {
  try await register(&state, Declare(protocolName: "P"), .declaration)
}

private func ask(
  _ state: inout LinkState, _ reply: Reply<Response>, serial: Serial, deadline: UInt32,
  at now: ContinuousClock.Instant
) -> Outbox.Duty {
  do throws(TribuneError) {
    return try state.enqueue(
      .query(progress: nil, beginning: nil), reply, Ask(deadline: deadline), Link.Message(name: "a.should"),
      serial: serial, at: now)
  } catch {
    Issue.record("not sent: \(error)")
    return .none
  }
}

func confirmAll(_ state: inout LinkState) {
  for serial in state.entries.keys.sorted() { apply([state.receive(.okay(Okay()), to: serial)]) }
}

func apply(_ actions: [LinkState.Action]) {
  for action in actions {
    switch action {
    case .resume(let reply, let result): reply.resume(returning: result)
    case .resumeAll(let replies, let result): for reply in replies { reply.resume(returning: result) }
    default: break
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension Outbox.Duty {
  var batch: OutgoingBatch? { if case .write(let batch) = self { batch } else { nil } }
  fileprivate var isWake: Bool { if case .wake = self { true } else { false } }
}

extension LinkState {
  fileprivate var word: String {
    switch phase {
    case .connecting: "connecting"
    case .open: "open"
    case .interrupted(let interruption):
      interruption.closingDeadline == nil ? "interrupted" : "interrupted, closing"
    case .closing: "closing"
    case .ended(let error): error.map { "ended \($0.code)" } ?? "ended"
    }
  }
}

extension LinkState.StreamEnd {
  fileprivate var word: String {
    switch self {
    case .connectAgain: "connect again"
    case .reconnect: "reconnect"
    case .end(let error):
      error.map { "end \($0.code)" + ($0.message == "writing failed" ? ": writing failed" : "") } ?? "end"
    }
  }
}

extension LinkState.Step {
  fileprivate var word: String {
    switch self {
    case .greet: "greet"
    case .receive: "receive"
    case .reconnect: "reconnect"
    case .close(_, let endsWriting): endsWriting ? "close, end writing" : "close"
    case .end: "end"
    }
  }
}
