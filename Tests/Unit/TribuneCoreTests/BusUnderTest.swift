// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneProtocols
import TribuneTestSupport
import TribuneWire

/// A bus with a made clock and scripted connections.
///
/// The transcript has a line for each frame that the bus sends: `B question 1 d2 5000ms` goes to B.
/// Connections are A, B, C …, in the order of their slots.
final class BusUnderTest {
  var bus: Bus
  var log: [LoggedEvent]?
  private(set) var peers: [ConnectionSlot: (id: ConnectionID, peer: PeerIdentity)] = [:]
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private var transcript: [String] = []
  private var questions: [(to: ConnectionSlot, question: Question)] = []
  var onEffect: ((Effect) -> Void)?
  var onKept: ((Effect) -> Void)?
  var lastVerdict: Verdict?
  private var lastConnection: UInt64 = 0
  private var freeSlots: [ConnectionSlot] = []
  private var slotCount = 0

  init(_ changeLimits: (inout BusLimits) -> Void = { _ in }) {
    var limits = BusLimits()
    changeLimits(&limits)
    bus = Self.makeBus(limits)
  }

  static func makeBus(_ limits: BusLimits) -> Bus {
    Bus(
      limits: limits, seed: 0x7269_6275_6E65, accounts: Accounts(privileged: [0]), payloadCheck: .fake,
      access: .everything)
  }

  // MARK: Events

  @discardableResult
  func connect(
    pid: UInt32 = 0, uid: UInt32 = 1000, gid: UInt32 = 1000,
    units: PeerUnits = PeerUnits(system: "test.service"), groups: Groups? = nil
  ) -> ConnectionSlot {
    let slot = freeSlots.popLast() ?? ConnectionSlot(index: slotCount)
    slotCount = max(slotCount, slot.index + 1)
    lastConnection += 1
    let peer = PeerIdentity(pid: pid, uid: uid, gid: gid, process: "test", units: units)
    let id = ConnectionID(rawValue: lastConnection)
    peers[slot] = (id, peer)
    var subject = peer.subject
    if let groups { subject.groups = groups }
    happen { $0.connect(slot, id: id, peer: peer, subject: subject) }
    return slot
  }

  /// The delegate attaches with serial 1. Clears the transcript.
  @discardableResult
  func connectDelegate(
    _ patterns: String..., to object: String = "", policy: FailurePolicy = .veto, timeout: UInt32 = 0,
    uid: UInt32 = 1000
  ) -> ConnectionSlot {
    let slot = connect(uid: uid)
    attach(patterns, to: object, by: slot, serial: 1, policy: policy, timeout: timeout)
    transcript = []
    return slot
  }

  func disconnect(_ slot: ConnectionSlot, because reason: ErrorCode? = nil) {
    freeSlots.append(slot)
    peers[slot] = nil
    happen { [now] in $0.disconnect(slot, because: reason, at: now) }
  }

  func stop() {
    bus.stop(at: now)
    takeEffects()
  }

  /// The bus learns of it with the next event.
  func elapse(milliseconds: UInt32) { now = now.advanced(byMilliseconds: milliseconds) }

  func advance(milliseconds: UInt32) {
    now = now.advanced(byMilliseconds: milliseconds)
    advance()
  }

  private func advance() {
    happen { [now] in $0.advance(to: now) }
    while bus.nextDeadline.map({ $0 <= now }) == true { happen { [now] in _ = $0.deliverDue(at: now) } }
  }

  func advanceToNextDeadline() -> Bool {
    guard let next = bus.nextDeadline else { return false }
    now = max(now, next)
    advance()
    return true
  }

  /// Returns the error that ends the connection.
  @discardableResult
  func send<F: FrameFields>(
    _ fields: F, flags: FrameFlags = [], from slot: ConnectionSlot, serial: Serial, name: String = "",
    object: String = "", text: String = ""
  ) -> WireError? {
    let buffer = ByteBuffer(capacity: 0)
    buffer.appendFrame(fields, flags: flags, serial: serial, name: name, object: object, text: text)
    return send(buffer, from: slot)
  }

  @discardableResult
  func send(_ frame: ByteBuffer, from slot: ConnectionSlot) -> WireError? {
    guard let header = FrameHeader.peek(frame.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a test sent a partial frame")
    }
    let logged = LoggedFrame(header: header, frame: frame, slot: slot, sender: peers[slot]?.id, at: now)
    do throws(WireError) {
      try happen(logged)
      return nil
    } catch {
      return error
    }
  }

  func observe(
    _ pattern: String = "", object: String = "", by slot: ConnectionSlot, serial: Serial,
    _ options: ObserveOptions = [], suspension: SuspensionBehavior = .coalesce
  ) {
    send(
      Observe(options: options, suspension: suspension), from: slot, serial: serial, name: pattern,
      object: object)
  }

  func attach(
    _ patterns: [String], to object: String = "", by slot: ConnectionSlot, serial: Serial, order: Int32 = 0,
    policy: FailurePolicy = .veto, timeout: UInt32 = 0, label: String = "", isSet: Bool = false,
    conformingTo protocols: [String] = []
  ) {
    let fields = Attach(
      order: order, failurePolicy: policy, timeout: timeout, label: label, patterns: patterns, isSet: isSet,
      protocols: protocols)
    send(fields, from: slot, serial: serial, object: object)
  }

  func ask(
    _ name: String, object: String = "", by slot: ConnectionSlot, serial: Serial,
    mode: QueryMode = .parallel, fallback: VerdictKind = .allowed, deadline: UInt32 = 0, text: String = "",
    parent: UInt64 = 0, flags: QueryFlags = [], because overrideReason: String = "", slots: UInt32 = 0
  ) {
    let fields = Ask(
      deadline: deadline, mode: mode, fallback: fallback, parent: parent, flags: flags,
      overrideReason: overrideReason, slots: slots)
    send(fields, from: slot, serial: serial, name: name, object: object, text: text)
  }

  /// `expiry` is in milliseconds from now.
  func hold(
    _ pattern: String = "", object: String = "", why: String = "busy", for expiry: UInt32? = nil,
    holder: PeerIdentity? = nil, by slot: ConnectionSlot, serial: Serial
  ) {
    let expiry = expiry.map { now.advanced(byMilliseconds: $0).nanoseconds } ?? 0
    let fields = Hold(expiry: expiry, holder: holder)
    send(fields, from: slot, serial: serial, name: pattern, object: object, text: why)
  }

  func amend(_ hold: Serial, why: String, by slot: ConnectionSlot, serial: Serial) {
    send(Amend(target: hold), from: slot, serial: serial, text: why)
  }

  func declare(
    _ object: String = "", as protocolName: String = "", defining source: String = "",
    by slot: ConnectionSlot, serial: Serial
  ) { send(Declare(protocolName: protocolName), from: slot, serial: serial, object: object, text: source) }

  func post(
    _ name: String, object: String = "", text: String = "", by slot: ConnectionSlot, serial: Serial = 0,
    _ options: PostOptions, style: PostingStyle = .now, deadline: UInt32 = 0, length: UInt32 = 0,
    flags: FrameFlags = []
  ) {
    send(
      Post(options: options, style: style, deadline: deadline, length: length), flags: flags, from: slot,
      serial: serial, name: name, object: object, text: text)
  }

  func plain(_ name: String, object: String = "", _ texts: String...) throws(WireError) {
    let run = ByteBuffer(capacity: 0)
    for text in texts { run.appendFrame(Post(), serial: 0, name: name, object: object, text: text) }
    let key = ByteBuffer(holding: Array((name + object).utf8))
    var receivers = ""
    let slice = ByteSlice(run, 0..<run.count)
    var runToBuffer = RunToBuffer(slice, count: texts.count)
    for receiver in try bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: nil).receivers {
      guard case .delivered(let flushed) = bus.admit(receiver, &runToBuffer) else { continue }
      if let flushed { transcript.append(Effect.buffered(receiver.slot, flushed).line) }
      receivers += receiver.slot.letter
    }
    transcript.append("\(receivers) \(slice.summary)")
  }

  func endIteration() {
    while bus.hasSoonPosts { happen { _ = $0.deliverSoon() } }
  }

  func idle() {
    while bus.hasIdlePosts { happen { _ = $0.deliverIdle() } }
  }

  func suspend(_ isSuspended: Bool = true, by slot: ConnectionSlot, serial: Serial = 903) {
    send(Suspend(isSuspended: isSuspended), from: slot, serial: serial)
  }

  func done(_ post: Serial, of poster: UInt64, by slot: ConnectionSlot, failed reason: String? = nil) {
    let done = Done(poster: ConnectionID(rawValue: poster), post: post, hasFailed: reason != nil)
    send(done, from: slot, serial: 904, text: reason ?? "")
  }

  func post(_ name: String, object: String, text: String = "") throws(WireError) -> ErrorCode? {
    let frame = ByteBuffer { $0.appendFrame(Post(), serial: 0, name: name, object: object, text: text) }
    guard let header = try FrameHeader(frame.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a test made a partial frame")
    }
    return refusal { () throws(WireError) in try bus.check(post: FrameView(header, frame.bytes)) }
  }

  @discardableResult
  func configure(_ source: String, _ objects: [String: String] = [:]) -> ConfiguredProtocols {
    let rules = objects.sorted { $0.key < $1.key }.compactMap { pattern, name in
      ObjectPattern(pattern).map { ObjectRule(pattern: $0, protocolName: name) }
    }
    precondition(rules.count == objects.count, "a test wrote an invalid pattern")
    return bus.configure(
      protocols: [ProtocolSource(file: "test.protocol", text: Array(source.utf8))], objects: rules)
  }

  func answer(
    _ answer: AnswerKind, _ reason: String = "", query: UInt64 = 1, delegate: UInt64,
    from slot: ConnectionSlot, serial: Serial = 900
  ) {
    let fields = Answer(
      query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate), answer: answer)
    send(fields, from: slot, serial: serial, text: reason)
  }

  func deferAnswer(
    _ milliseconds: UInt32, _ status: String = "", query: UInt64 = 1, delegate: UInt64,
    from slot: ConnectionSlot
  ) {
    let fields = Defer(
      query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate), extension: milliseconds)
    send(fields, from: slot, serial: 901, text: status)
  }

  func cancel(_ target: Serial, by slot: ConnectionSlot, serial: Serial = 902) {
    send(Cancel(target: target), from: slot, serial: serial)
  }

  func expectNothing(
    forMilliseconds milliseconds: UInt32, sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    advance(milliseconds: milliseconds - 1)
    #expect(take() == [], sourceLocation: sourceLocation)
    advance(milliseconds: 1)
  }

  // MARK: Results

  func take() -> [String] {
    defer { transcript = [] }
    return transcript
  }

  func expect(_ lines: String..., sourceLocation: Testing.SourceLocation = #_sourceLocation) {
    #expect(take() == lines, sourceLocation: sourceLocation)
  }

  func takeQuestions() -> [(to: ConnectionSlot, question: Question)] {
    defer { questions = [] }
    return questions
  }

  func receivers(_ name: String, object: String = "") throws(WireError) -> String {
    let key = ByteBuffer(holding: Array((name + object).utf8))
    return try bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: nil).receivers.map(
      \.slot.letter
    )
    .sorted().joined()
  }

  func chain(_ name: String, object: String = "") throws(WireError) -> [DelegateEntry] {
    try explain(name, object: object).compactMap { if case .delegate(let entry) = $0 { entry } else { nil } }
  }

  func explain(
    _ name: String, object: String = "", for slot: ConnectionSlot? = nil
  ) throws(WireError) -> [Entry] {
    let frame = ByteBuffer { $0.appendFrame(List(.chain), serial: 1, name: name, object: object) }
    guard let header = try FrameHeader(frame.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a test made a partial frame")
    }
    let (entries, delegates) = try bus.explain(FrameView(header, frame.bytes), for: slot, at: now)
    return entries + delegates.compactMap { bus.listableEntry(of: $0, for: slot).map { .delegate($0) } }
  }

  func popUnreadInbox() -> ConnectionSlot? { bus.popUnreadInbox() }

  func isWaitingToBeRead(_ slot: ConnectionSlot) -> Bool { bus.isWaitingToBeRead(slot) }

  var isMonitored: Bool { bus.isMonitored }
  var observationCount: Int { bus.observationCount }
  var delegateCount: Int { bus.delegateCount }
  var queryCount: Int { bus.queryCount }

  func counts(at slot: ConnectionSlot) -> (observations: Int, delegates: Int, queries: Int) {
    bus.counts(at: slot)
  }

  var nextDeadline: Instant? { bus.nextDeadline }
  var verdictCounts: [UInt64] { [bus.totals.asked, bus.totals.vetoed] }

  var isEmpty: Bool {
    bus.observationCount == 0 && bus.delegateCount == 0 && bus.holdCount == 0 && bus.queryCount == 0
      && !bus.isMonitored && bus.nextDeadline == nil && bus.declarationCount == 0 && bus.protocolCount == 0
      && !bus.hasIdlePosts && bus.retainedEntries(of: 0, for: nil, at: now).isEmpty
  }

  func takeEffects() {
    var effects = Batch<Effect>()
    bus.takeEffects(&effects)
    effects.drain { effect in
      if case .question(let slot, _, _, let question, _) = effect { questions.append((slot, question)) }
      if case .verdict(_, _, let decision, _) = effect { lastVerdict = decision.verdict }
      switch effect {
      case .kept, .forgotten, .waiting, .noLongerWaiting: onKept?(effect)
      case .noLongerPermitted(let ended):
        transcript += ended.map { "\($0.slot.letter) ended \($0.serial) (\($1))" }
      default:
        onEffect?(effect)
        transcript.append(effect.line)
      }
    }
  }
}

extension PayloadCheck {
  static let fake = PayloadCheck(
    userInfo: { (payload, method) throws(WireError) in try requireFit(payload, method) },
    value: { (payload, method) throws(WireError) in try requireFit(payload, method) })

  private static func requireFit(_ payload: RawSpan, _ method: ProtocolMethod) throws(WireError) {
    if String(repairing: payload).contains("bad") {
      throw WireError(.invalidParameter, "\(method.name) takes nothing bad")
    }
  }
}

extension QueryMode {
  /// A question for permission, or a value.
  var name: String { isForValues ? "x" : "shouldX" }
}

extension ConnectionSlot {
  var letter: String { index < 26 ? String(Unicode.Scalar(UInt8(ascii: "A") + UInt8(index))) : "#\(index)" }
}

extension PeerIdentity {
  var subject: Subject {
    Subject(user: uid, groups: [gid], unit: Subject.Unit(units.system.isEmpty ? nil : units.system))
  }
}

extension Effect {
  var line: String {
    switch self {
    case .kept, .forgotten, .waiting, .noLongerWaiting: preconditionFailure("this effect is for the log")
    case .okay(let slot, let serial, let okay):
      let registration = okay.registration == 0 ? "" : " as \(okay.registration)"
      return "\(slot.letter) ok \(serial)\(registration)" + (okay.delegate == 0 ? "" : " d\(okay.delegate)")
    case .refusal(let slot, let serial, let error): return "\(slot.letter) refused \(serial) \(error.code)"
    case .question(let slot, let serial, _, let question, let tail):
      let text = String(repairing: tail.slice.bytes)
      return "\(slot.letter) question \(serial) q\(question.query.rawValue) d\(question.delegate.rawValue) "
        + "\(question.timeout)ms \(text)"
    case .progress(let slot, let serial, let progress, let status, _):
      return "\(slot.letter) progress \(serial) q\(progress.query.rawValue) "
        + "d\(progress.delegate.id.rawValue) \(progress.summary) \(status)"
    case .verdict(let slot, let serial, let decision, _):
      return
        "\(slot.letter) verdict \(serial) q\(decision.verdict.query.rawValue) \(decision.verdict.summary)"
    case .concluded(let slot, let serial, let concluded, _):
      return "\(slot.letter) concluded \(serial) q\(concluded.query.rawValue) "
        + "d\(concluded.delegate.rawValue) \(concluded.conclusion)"
    case .ended(let slot, let serial, .replaced(let entry)):
      return "\(slot.letter) ended \(serial) replaced by d\(entry.delegate.id.rawValue)"
    case .late(let slot, let serial, let late):
      return "\(slot.letter) late \(serial) d\(late.delegate.rawValue) \(late.actions)"
    case .expired(let slot, let serial, _): return "\(slot.letter) ended \(serial) expired"
    case .ended(let slot, let serial, .expired), .ended(let slot, let serial, .notPermitted):
      preconditionFailure("\(slot.letter) ended \(serial)")
    case .notification(let slice, let receivers, let poster):
      return "\(receivers.map(\.slot.letter).joined()) \(slice.summary) from \(poster.id)"
    case .buffered(let slot, let flushed):
      return "\(slot.letter) held" + (flushed.lost == 0 ? "" : " lost \(flushed.lost)")
        + flushed.slices.map { ", \($0.summary)" }.joined()
    case .snapshot(let slot, let serial, let notifications):
      return "\(slot.letter) snapshot \(serial)"
        + notifications.map { kept in
          ", \(kept.tail.summary) from \(kept.sender) at \(kept.posted.nanoseconds / 1_000_000) ms"
        }.joined()
    case .awaited(let slot, let serial, let awaited, _):
      return "\(slot.letter) awaited \(serial) \(awaited.acknowledged)"
        + awaited.missing.map { missing in
          let reason = missing.reason.isEmpty ? "" : " (\(missing.reason))"
          return ", \(missing.connection) \(missing.failure)\(reason) \(missing.elapsed / 1000) ms"
        }.joined()
    case .noLongerPermitted: preconditionFailure("the transcript has a line for each")
    case .observesLess(let slot): return "\(slot.letter) observes less"
    case .announcement(let announcement): return announcement.line
    }
  }
}

extension ByteSlice {
  fileprivate var summary: String {
    var position = 0
    var frames: [String] = []
    while position < count, let header = FrameHeader.peek(bytes, at: position, limits: .fromBus) {
      let tail = bytes.extracting(position + header.nameStart..<position + header.frameLength)
      frames.append(tail.summary(header.nameLength, header.objectLength))
      position += header.frameLength
    }
    return frames.joined(separator: " + ")
  }
}

extension QueryTail {
  fileprivate var summary: String { slice.bytes.summary(nameLength, objectLength) }
}

extension RawSpan {
  fileprivate func summary(_ nameLength: Int, _ objectLength: Int) -> String {
    let object = String(repairing: extracting(nameLength..<nameLength + objectLength))
    let text = String(repairing: extracting(droppingFirst: nameLength + objectLength))
    return [String(repairing: extracting(first: nameLength)), object, text].filter { !$0.isEmpty }
      .joined(separator: " ")
  }
}

extension Announcement {
  fileprivate var line: String {
    switch self {
    case .didConnect(let id, let peer): "didConnect \(id) pid \(peer.pid)"
    case .didDisconnect(let id, let peer, nil): "didDisconnect \(id) pid \(peer.pid)"
    case .didDisconnect(let id, let peer, let reason?): "didDisconnect \(id) pid \(peer.pid) \(reason)"
    case .didAttach(let delegate): "didAttach \(delegate.entry.summary)"
    case .didDetach(let delegate): "didDetach \(delegate.entry.summary)"
    case .didTake(let entry): "didTake \(entry.summary)"
    case .didChange(let entry): "didChange \(entry.summary)"
    case .didRelease(let entry, let isExpired): "didRelease \(entry.summary)" + (isExpired ? " expired" : "")
    case .didConclude(let ending):
      "didConclude q\(ending.query.rawValue) \(ending.name) on \(ending.object): \(ending.conclusion) "
        + "\(ending.mode) by \(ending.asker), \(ending.vetoCount) vetoes, "
        + "\(ending.elapsedNanoseconds / 1_000_000)ms"
    case .didBegin(let action): "didBegin \(action.summary)"
    case .didEnd(let action): "didEnd \(action.summary)"
    case .didStopWaiting(let action): "didStopWaiting \(action.summary)"
    case .didReload: "didReload"
    case .willStop: "willStop"
    }
  }
}

extension QueryEntry {
  fileprivate var summary: String { "q\(id.rawValue) of \(connection): \(name) on \(object)" }
}

extension HoldEntry {
  fileprivate var summary: String {
    "d\(delegate.id.rawValue) of \(connection) on \(object): \(pattern) (\(why))"
  }
}

extension DelegateEntry {
  fileprivate var summary: String {
    "d\(delegate.id.rawValue) of \(connection) on \(object): \(patterns.joined(separator: ", "))"
  }
}

extension Progress {
  fileprivate var summary: String {
    switch stage {
    case .deferred: "\(timeout)ms"
    case .asked: "asked \(timeout)ms"
    case .settled: "\(outcome)"
    }
  }
}

extension Bus {
  func retainedEntries(of connection: UInt64, for slot: ConnectionSlot?, at now: Instant) -> [RetainedEntry] {
    retainedNotifications(of: connection, for: slot).compactMap { listableEntry(of: $0, for: slot, at: now) }
      .sorted { ($0.name, $0.object) < ($1.name, $1.object) }
  }

  func nameEntries(for slot: ConnectionSlot?) -> [NameEntry] { nameEntries.filter { mayList($0, for: slot) } }
}

extension Verdict {
  /// `vetoed: d1 approved, d2 vetoed (busy)`; `allowed?` if unanswered.
  var summary: String {
    let summaries = outcomes.map { outcome in
      let text = outcome.value.isEmpty ? outcome.reason : String(decoding: outcome.value, as: UTF8.self)
      let reason = text.isEmpty ? "" : " (\(text))"
      return "d\(outcome.delegate.id.rawValue) \(outcome.outcome)\(reason)"
    }
    let marks = (isUnanswered ? "?" : "") + (isOverridden ? " overridden" : "") + (isDryRun ? " dry" : "")
    return "\(verdict)\(marks)" + (summaries.isEmpty ? "" : ": ") + summaries.joined(separator: ", ")
      + (similarName.isEmpty ? "" : ", not \(similarName)")
  }
}
