// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("A notification center in which everything happens", .timeLimit(.minutes(15)))
struct NotificationSimulationTests {
  @Test(
    "Gives each exactly what a plain account of it says, in that order, and is empty in the end",
    arguments: Seeds.all)
  func promises(seed: UInt64) throws {
    let simulation = NotificationSimulation(seed: seed)
    for _ in 0..<4000 { try simulation.step() }
    try simulation.end()
  }

  @Test(
    "Goes on as if nothing had been, when another one takes its place", arguments: Seeds.all.suffix(4),
    Restart.allCases
  )
  func restarting(seed: UInt64, restart: Restart) throws {
    let simulation = NotificationSimulation(seed: seed, restarting: restart)
    for _ in 0..<1500 { try simulation.step() }
    try simulation.end()
    #expect(simulation.restartCount > 5)
  }

  @Test("Does the same again when the same happens", arguments: Seeds.all)
  func replay(seed: UInt64) throws {
    let transcripts = try (0..<2).map { _ in
      let simulation = NotificationSimulation(seed: seed)
      for _ in 0..<1000 { try simulation.step() }
      try simulation.end()
      return simulation.transcript
    }
    #expect(transcripts[0] == transcripts[1])
    #expect(transcripts[0].count > 500)
  }
}

/// Drives a bus at random, and says of each thing that happens who must hear what of it.
private final class NotificationSimulation {
  static let names = ["a", "a.b", "a.b.c", "a.didB", "a.willC", "b", "b.b"]
  static let objects = ["", "o", "p", "ö"]
  static let patterns = ["", "a", "a.*", "a.**", "*", "*.b", "**", "b", "a.didB", "*.*.c", "c"]

  private let bus: BusUnderTest
  private var random: SplitMix64
  private(set) var transcript: [String] = []
  private var model: NotificationModel
  /// What each connection has heard of what just happened.
  private var heard: [ConnectionSlot: [Heard]] = [:]
  private var lastSerial: Serial = 0
  private var lastConnection: UInt64 = 0
  private var stepCount = 0
  /// What follows the first thing that is wrong says nothing more.
  private var isBroken = false

  private let restart: Restart?
  private(set) var restartCount = 0
  private var nextRestart = 40

  init(seed: UInt64, restarting restart: Restart? = nil) {
    self.restart = restart
    random = SplitMix64(seed: seed)
    var limits = BusLimits()
    limits.heldMax = 3000
    limits.heldTotalMax = 6000
    limits.retainedUserMax = 6000
    limits.retainedMax = 9000
    limits.deadline = 1500
    limits.awaitedMax = 8
    limits.queriesMax = 4
    model = NotificationModel(limits: limits)
    bus = BusUnderTest(limits)
    if restart != nil { bus.log = [] }
    bus.onEffect = { [unowned self] in hear($0) }
  }

  func step() throws {
    guard !isBroken else { return }
    stepCount += 1
    switch Int.random(in: 0..<40, using: &random) {
    case 0...1: if model.connections.count < 6 { connect() }
    case 2: if random.oneIn(3), let slot = someone() { disconnect(slot) }
    case 3...6: if let slot = someone() { observe(slot) }
    case 7...8: if let slot = someone() { forget(slot) }
    case 9: if let slot = someone() { attach(slot) }
    case 10...11: if let slot = someone() { suspend(slot) }
    case 12...18: if let slot = someone() { try plain(slot) }
    case 19...28: if let slot = someone() { post(slot) }
    case 29...33: acknowledge()
    case 34: cancelAwaited()
    case 35:
      model.deliverSoon()
      bus.endPass()
    case 36:
      model.deliverIdle()
      bus.idle()
    case 37: bus.elapse(milliseconds: UInt32.random(in: 0...300, using: &random))
    case 38: advance(milliseconds: UInt32.random(in: 0...300, using: &random))
    default:
      model.advance(to: max(bus.now, bus.nextDeadline ?? bus.now))
      _ = bus.advanceToNextDeadline()
    }
    settle()
    // What waits for the end of a pass or for idleness is delivered before another takes over.
    guard let restart, stepCount >= nextRestart, !bus.bus.hasSoonPosts, !bus.bus.hasIdlePosts else { return }
    restartCount += 1
    nextRestart = stepCount + 80
    bus.restart(restart)
    settle()
  }

  /// Lets everything run out, frees what is retained, and has everyone leave.
  func end() throws {
    while !isBroken, let next = bus.nextDeadline {
      model.advance(to: max(bus.now, next))
      _ = bus.advanceToNextDeadline()
      settle()
    }
    model.deliverSoon()
    bus.endPass()
    settle()
    while let slot = model.connections.keys.sorted(by: { $0.index < $1.index }).first {
      disconnect(slot)
      settle()
    }
    guard !isBroken else { return }
    let slot = connect()
    for key in model.retained.keys.sorted(by: { ($0.name, $0.object) < ($1.name, $1.object) }) {
      post(slot, MadePost(name: key.name, object: key.object, options: .retain))
      settle()
    }
    // Each user has all its room again: what fits just so is retained, and not a byte more.
    for uid in NotificationModel.users {
      let user = bus.connect(uid: uid)
      let length = model.limits.retainedUserMax - 512 - 1
      for (text, isRetained) in [(length + 1, false), (length, true), (0, true)] {
        lastSerial += 1
        bus.post(
          "x", text: String(repeating: "x", count: text), by: user, serial: lastSerial, .retain,
          flags: .acknowledge)
        let word = isRetained ? "ok" : "refused"
        expect(bus.take().contains { $0.hasPrefix("\(user.letter) \(word) \(lastSerial)") }, "user \(uid)")
      }
      bus.disconnect(user)
    }
    disconnect(slot)
    expect(bus.isEmpty, "something is left")
  }

  // MARK: What happens

  private func someone() -> ConnectionSlot? {
    model.connections.keys.sorted { $0.index < $1.index }.randomElement(using: &random)
  }

  private func makeSerial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  @discardableResult
  private func connect() -> ConnectionSlot {
    let uid = random.pick(NotificationModel.users)
    lastConnection += 1
    let slot = bus.connect(uid: uid)
    model.connections[slot] = NotificationModel.Connection(
      id: ConnectionID(rawValue: lastConnection), uid: uid)
    return slot
  }

  private func disconnect(_ slot: ConnectionSlot) {
    model.disconnect(slot, at: bus.now)
    bus.disconnect(slot)
  }

  private func observe(_ slot: ConnectionSlot) {
    guard model.connections[slot]?.observations.count ?? 0 < 8 else { return forget(slot) }
    var options: ObserveOptions = random.oneIn(3) ? .retained : []
    if random.oneIn(3) { options.insert(.awaited) }
    let (text, object) = (random.pick(Self.patterns), random.pick(Self.objects))
    let suspension = random.pick(SuspensionBehavior.allCases)
    let serial = makeSerial()
    model.observe(
      NotificationModel.Observation(
        pattern: made(text), object: object, suspension: suspension, isAwaited: options.contains(.awaited)),
      slot, serial, withSnapshot: options.contains(.retained), at: bus.now)
    bus.observe(text, object: object, by: slot, serial: serial, options, suspension: suspension)
  }

  private func attach(_ slot: ConnectionSlot) {
    guard model.connections[slot]?.observations.values.contains(where: { $0.isDelegate }) != true else {
      return
    }
    let (text, object, serial) = (
      random.pick(["a.*", "**", "a.didB"]), random.pick(["", "o"]), makeSerial()
    )
    model.expire(at: bus.now)
    model.connections[slot]?.observations[serial] = NotificationModel.Observation(
      pattern: made(text), object: object, suspension: .deliverImmediately, isAwaited: false,
      isDelegate: true)
    model.hear(.okay(serial), slot)
    bus.attach([text], to: object, by: slot, serial: serial)
  }

  private func made(_ pattern: String) -> Pattern {
    do throws(WireError) {
      return pattern.isEmpty ? .any : try Pattern(pattern)
    } catch {
      preconditionFailure(error.message)
    }
  }

  private func forget(_ slot: ConnectionSlot) {
    guard let target = model.connections[slot]?.observations.keys.sorted().randomElement(using: &random)
    else { return }
    let serial = makeSerial()
    model.expire(at: bus.now)
    model.connections[slot]?.observations[target] = nil
    model.hear(.okay(serial), slot)
    bus.cancel(target, by: slot, serial: serial)
  }

  private func suspend(_ slot: ConnectionSlot) {
    let (isSuspended, serial) = (random.oneIn(2), makeSerial())
    model.suspend(isSuspended, slot, serial, at: bus.now)
    bus.suspend(isSuspended, by: slot, serial: serial)
  }

  /// A run of plain posts, which the server hands on past the core.
  private func plain(_ slot: ConnectionSlot) throws {
    let (name, object) = (random.pick(Self.names), random.pick(Self.objects))
    let run = ByteBuffer(capacity: 0)
    var frames: [NotificationModel.Frame] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let start = run.count
      let serial = makeSerial()
      run.appendFrame(Post(), serial: serial, name: name, object: object, text: random.padding())
      frames.append(NotificationModel.Frame(serial: serial, byteCount: run.count - start))
    }
    model.deliver(frames, name, object, [])
    let key = ByteBuffer(holding: Array((name + object).utf8))
    let slice = ByteSlice(run, 0..<run.count)
    let receivers = try bus.bus.receivers(of: key.bytes, nameLength: name.utf8.count)
    var direct: [ConnectionSlot] = []
    for receiver in receivers {
      var isNow = receiver.way == .now
      if !isNow { bus.happen { isNow = $0.isFor(receiver, slice, count: UInt64(frames.count)) } }
      if isNow { direct.append(receiver.slot) }
    }
    for receiver in direct { heard[receiver, default: []] += frames.map { .post($0.serial) } }
    transcript.append("\(direct.map(\.letter).joined()) \(frames.map(\.serial))")
  }

  private func post(_ slot: ConnectionSlot) {
    var made = MadePost(name: random.pick(Self.names), object: random.pick(Self.objects))
    if random.oneIn(4) { made.options.insert(.immediately) }
    if random.oneIn(2) { made.options.insert(.retain) }
    if !random.oneIn(4) { made.text = random.padding() + "x" }
    if random.oneIn(3) {
      made.options.insert(.awaited)
      made.deadline = random.oneIn(2) ? 0 : UInt32.random(in: 1...1000, using: &random)
    } else {
      if random.oneIn(3) { made.options.insert(.coalesceByName) }
      if random.oneIn(3) { made.options.insert(.coalesceByObject) }
      made.style = random.pick(PostingStyle.allCases)
      made.isAcknowledged = random.oneIn(2)
    }
    post(slot, made)
  }

  private func post(_ slot: ConnectionSlot, _ made: MadePost) {
    let serial = makeSerial()
    let frame = ByteBuffer(capacity: 0)
    frame.appendFrame(
      Post(options: made.options, style: made.style, deadline: made.deadline),
      flags: made.isAcknowledged ? .acknowledge : [], serial: serial, name: made.name, object: made.object,
      text: made.text)
    // One that wants nothing is a plain one, which the server hands on past this.
    guard made.options != [] || made.style != .now else { return }
    model.post(
      made, NotificationModel.Frame(serial: serial, byteCount: frame.count), from: slot, at: bus.now)
    bus.send(frame, from: slot)
  }

  /// One of those who are waited for says that it has done it, or not; or somebody says so whom nobody waits for.
  private func acknowledge() {
    guard let slot = someone() else { return }
    let owed = model.awaited.keys.sorted().filter { model.awaited[$0]?.waiting.contains(slot) == true }
    let known = owed.randomElement(using: &random)
    let post = known ?? Serial.random(in: 0...lastSerial, using: &random)
    let poster =
      model.awaited[post].flatMap { model.connections[$0.poster]?.id }
      ?? ConnectionID(rawValue: UInt64.random(in: 0...lastConnection, using: &random))
    let reason = random.oneIn(3) ? "busy" : nil
    let serial = makeSerial()
    model.acknowledge(post, poster, from: slot, serial, failed: reason, at: bus.now)
    bus.done(post, of: poster.rawValue, by: slot, failed: reason, serial: serial)
  }

  private func cancelAwaited() {
    guard let post = model.awaited.keys.sorted().randomElement(using: &random),
      let slot = model.awaited[post]?.poster
    else { return }
    let serial = makeSerial()
    model.cancel(post, from: slot, serial, at: bus.now)
    bus.cancel(post, by: slot, serial: serial)
  }

  private func advance(milliseconds: UInt32) {
    model.advance(to: bus.now.advanced(byMilliseconds: milliseconds))
    bus.advance(milliseconds: milliseconds)
  }

  // MARK: What must be

  private func expect(
    _ holds: Bool, _ what: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard !holds, !isBroken else { return }
    isBroken = true
    Issue.record("in step \(stepCount): \(what())", sourceLocation: sourceLocation)
  }

  private func hear(_ effect: Effect) {
    switch effect {
    case .okay(let slot, let serial, _): heard[slot, default: []].append(.okay(serial))
    case .refusal(let slot, let serial, let error):
      heard[slot, default: []].append(.refused(serial, error.code))
    case .notification(let slice, let receivers, _):
      for slot in receivers.map(\.slot) { heard[slot, default: []] += serials(in: slice).map { .post($0) } }
    case .held(let slot, let slices, let count, let lost):
      if lost > 0 { heard[slot, default: []].append(.lost(lost)) }
      let held = slices.flatMap { serials(in: $0) }
      expect(held.count == count)
      heard[slot, default: []] += held.map { .post($0) }
    case .retained(let slot, let serial, let sender, let retained, let tail):
      let bytes = tail.slice.bytes
      heard[slot, default: []].append(
        .retained(
          serial, sender,
          NotificationModel.Key(
            name: String(repairing: bytes.extracting(first: tail.nameLength)),
            object: String(repairing: bytes.extracting(tail.nameLength..<tail.nameLength + tail.objectLength))
          ), length: tail.payloadLength, age: retained.age))
    case .awaited(let slot, let serial, let awaited, _):
      heard[slot, default: []].append(.awaited(serial, awaited))
    case .spent, .kept, .forgotten, .waiting, .waitsNoMore, .question, .progress, .verdict, .concluded,
      .ended,
      .announcement:
      expect(false, "nobody asks, and nobody observes the bus")
    }
  }

  private func serials(in slice: ByteSlice) -> [Serial] {
    var serials: [Serial] = []
    var position = 0
    while position < slice.count,
      let header = FrameHeader.peek(slice.bytes, at: position, limits: .fromBus)
    {
      serials.append(header.serial)
      position += header.frameLength
    }
    return serials
  }

  /// What holds between two events.
  private func settle() {
    transcript += bus.take()
    let expected = model.takeHeard()
    for slot in Set(heard.keys).union(expected.keys).sorted(by: { $0.index < $1.index }) {
      let (actual, expected) = (heard[slot] ?? [], expected[slot] ?? [])
      // Those that end at the same moment end in any order.
      expect(
        actual.filter { !$0.isAwaited } == expected.filter { !$0.isAwaited },
        "\(slot.letter) heard \(actual) instead of \(expected)")
      expect(
        actual.awaitedReplies == expected.awaitedReplies,
        "\(slot.letter) is answered \(actual) instead of \(expected)")
    }
    heard = [:]
    for (slot, connection) in model.connections {
      expect(bus.bus.heldByteCount(at: slot) == connection.held?.byteCount, "held for \(slot.letter)")
      expect((connection.held?.byteCount ?? 0) <= model.limits.heldMax)
    }
    expect(bus.bus.hasSoonPosts == !model.soon.isEmpty && bus.bus.hasIdlePosts == !model.idle.isEmpty)
    expect(bus.bus.postings.count == model.soon.count + model.idle.count)
    expect(bus.bus.postings.placeCount <= 8 * (model.soon.count + model.idle.count) + 600)
    expect(bus.bus.retained.count == model.retained.count)
    expect(bus.bus.awaitedPosts.count == model.awaited.count)
    expect(bus.nextDeadline == model.nextDue, "the next deadline")
  }
}

extension SplitMix64 {
  /// Mostly little.
  fileprivate mutating func padding() -> String {
    String(repeating: "x", count: oneIn(4) ? Int.random(in: 0...1500, using: &self) : 3)
  }
}

extension [Heard] {
  fileprivate var awaitedReplies: [Serial: Awaited] {
    var replies: [Serial: Awaited] = [:]
    for case .awaited(let serial, let awaited) in self {
      // One post is answered once.
      replies[serial] = replies[serial] == nil ? awaited : Awaited(acknowledged: .max, missing: [])
    }
    return replies
  }
}
