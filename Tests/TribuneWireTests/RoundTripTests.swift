// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Random frames", .timeLimit(.minutes(15)))
struct RoundTripTests {
  @Test("A frame is decoded as it was encoded", arguments: Seeds.all)
  func roundTrip(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<30 {
      for kind in FrameKind.allCases {
        let vector = FrameVector.random(kind, using: &random)
        let bytes = vector.encoded()
        let header = try #require(try FrameHeader(bytes.raw, at: 0, limits: .fromBus))
        #expect(header.frameLength == bytes.count, "round \(round), \(kind)")
        try vector.expect(FrameView(header, bytes.raw))
      }
    }
  }

  @Test("A corrupt frame is refused, or decoded as fields that can be encoded again", arguments: Seeds.all)
  func damage(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<30 {
      for kind in FrameKind.allCases {
        var bytes = FrameVector.random(kind, using: &random).encoded()
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
        }
        try Self.checkDamaged(bytes)
      }
    }
  }

  private static func checkDamaged(_ bytes: [UInt8]) throws {
    do throws(WireError) {
      guard let header = try FrameHeader(bytes.raw, at: 0, limits: .fromBus) else { return }
      guard header.frameLength <= bytes.count else { return }
      let whole = Array(bytes[..<header.frameLength])
      let frame = FrameView(header, whole.raw)
      _ = NameSyntax.isName(frame.name)
      _ = NameSyntax.isObject(frame.object)
      guard let vector = FrameVector.all.first(where: { $0.kind == header.kind }) else { return }
      try checkStable(like: vector.fields, in: frame)
    } catch {
      #expect([.malformedFrame, .frameTooLong, .invalidValue, .limitExceeded].contains(error.code))
    }
  }

  /// Fields that were decoded from corrupt bytes are the same after encoding and decoding.
  private static func checkStable<F: FrameFields>(like _: F, in frame: FrameView) throws(WireError) {
    let fields = try frame.decode(F.self)
    let buffer = ByteBuffer(capacity: 0)
    fields.append(to: buffer)
    var reader = FieldReader(buffer.bytes)
    let again = try F(from: &reader)
    #expect(again == fields)
  }
}

extension FrameVector {
  static func random(_ kind: FrameKind, using random: inout SplitMix64) -> FrameVector {
    FrameVector(
      "random \(kind)", randomFields(kind, using: &random), flags: FrameFlags(rawValue: random.integer()),
      sender: random.integer(), serial: random.integer(),
      name: random.text().prefix(utf8Length: WireLimits.nameLength),
      object: random.text().prefix(utf8Length: WireLimits.objectLength), payload: random.bytes(countMax: 300))
  }

  private static func randomFields(_ kind: FrameKind, using random: inout SplitMix64) -> any FrameFields {
    switch kind {
    case .post:
      return Post(
        options: PostOptions(rawValue: random.integer() & PostOptions.all.rawValue), style: random.any(),
        deadline: random.integer(), length: random.integer())
    case .observe:
      return Observe(
        options: ObserveOptions(rawValue: random.integer() & ObserveOptions.all.rawValue),
        suspension: random.any())
    case .monitor: return Monitor()
    case .lost: return Lost(count: random.integer())
    case .cancel: return Cancel(target: random.integer())
    case .ok: return Okay(registration: random.integer(), delegate: random.integer())
    case .error:
      var refusal = Refusal(.notFound)
      refusal.rawCode = random.integer()
      return refusal
    case .welcome:
      return Welcome(
        connection: random.connection(), payloadMax: random.integer(), observationsMax: random.integer(),
        delegatesMax: random.integer(), queriesMax: random.integer(), deadlineMax: random.integer(),
        deadlineDefault: random.integer(), busPID: random.integer(), software: random.text())
    case .attach:
      return Attach(
        order: random.integer(), failurePolicy: random.any(), timeout: random.integer(), label: random.text(),
        patterns: random.texts(countMax: WireLimits.patternsPerDelegate), isSet: random.oneIn(2),
        protocols: random.texts(countMax: WireLimits.protocolsPerDelegate))
    case .ask:
      return Ask(
        deadline: random.integer(), mode: random.any(), fallback: random.any(), parent: random.integer(),
        flags: QueryFlags(rawValue: random.integer()), overrideReason: random.text(lengthMax: 500))
    case .question:
      return Question(
        query: random.query(), delegate: random.delegate(), timeout: random.integer(), asker: random.peer(),
        isDryRun: random.oneIn(2), wantsValue: random.oneIn(2))
    case .answer:
      return Answer(query: random.query(), delegate: random.delegate(), answer: random.any())
    case .defer:
      return Defer(query: random.query(), delegate: random.delegate(), extension: random.integer())
    case .progress:
      return Progress(
        query: random.query(), delegate: random.identity(), timeout: random.integer(), stage: random.any(),
        outcome: random.any())
    case .verdict:
      var outcomes: [Outcome] = []
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        outcomes.append(
          Outcome(
            delegate: random.identity(), outcome: random.any(), reason: random.text(lengthMax: 500),
            elapsed: random.integer(), value: random.bytes(countMax: 300)))
      }
      return Verdict(
        query: random.query(), verdict: random.any(), isUnanswered: random.oneIn(2), outcomes: outcomes,
        isOverridden: random.oneIn(2), isDryRun: random.oneIn(2))
    case .concluded:
      return Concluded(query: random.query(), delegate: random.delegate(), conclusion: random.any())
    case .list:
      return List(random.any(), connection: random.integer())
    case .traffic:
      return Traffic(
        time: random.integer(), from: random.connection(), to: random.connection(),
        receivers: random.integer())
    case .entry:
      return random.entry()
    case .hold:
      return Hold(expiry: random.integer())
    case .ended:
      return random.oneIn(2) ? Ended.expired : Ended.replaced(by: random.delegateEntry())
    case .declare:
      return Declare(protocolName: random.text())
    case .suspend:
      return Suspend(isSuspended: random.oneIn(2))
    case .retained:
      return Retained(age: random.integer(), length: random.integer())
    case .done:
      return Done(poster: random.connection(), post: random.integer(), hasFailed: random.oneIn(2))
    case .awaited:
      var missing: [Awaited.Missing] = []
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        missing.append(
          Awaited.Missing(
            connection: random.connection(), peer: random.peer(), failure: random.any(),
            reason: random.text(lengthMax: 500), elapsed: random.integer()))
      }
      return Awaited(acknowledged: random.integer(), missing: missing)
    case .succeed:
      return Succeed(predecessor: random.connection(), received: random.integer())
    }
  }
}

extension SplitMix64 {
  fileprivate mutating func any<T: CaseIterable>() -> T {
    guard let value = T.allCases.randomElement(using: &self) else {
      preconditionFailure("\(T.self) has no case")
    }
    return value
  }

  fileprivate mutating func connection() -> ConnectionID { ConnectionID(rawValue: integer()) }
  fileprivate mutating func query() -> QueryID { QueryID(rawValue: integer()) }
  fileprivate mutating func delegate() -> DelegateID { DelegateID(rawValue: integer()) }

  fileprivate mutating func texts(countMax: Int) -> [String] {
    var texts: [String] = []
    for _ in 0..<Int.random(in: 0...countMax, using: &self) { texts.append(text(lengthMax: 12)) }
    return texts
  }

  fileprivate mutating func peer() -> PeerIdentity {
    PeerIdentity(pid: integer(), uid: integer(), gid: integer(), process: text(), unit: text())
  }

  fileprivate mutating func identity() -> DelegateIdentity {
    DelegateIdentity(id: delegate(), label: text(), peer: peer())
  }

  fileprivate mutating func entry() -> Entry {
    switch Int.random(in: 0..<10, using: &self) {
    case 0:
      var entry = BusEntry()
      entry.pid = integer()
      entry.software = text()
      entry.address = text()
      entry.uptime = integer()
      entry.connections = integer()
      entry.observations = integer()
      entry.delegates = integer()
      entry.queries = integer()
      entry.posted = integer()
      entry.delivered = integer()
      entry.lost = integer()
      entry.asked = integer()
      entry.vetoed = integer()
      return .bus(entry)
    case 1:
      return .connection(
        ConnectionEntry(
          id: connection(), peer: peer(), age: integer(), observations: integer(), delegates: integer(),
          queries: integer(), queued: integer(), lost: integer(), posted: integer(), isPaused: oneIn(2),
          isLossy: oneIn(2), isSuspended: oneIn(2), held: integer()))
    case 2:
      return .observation(
        ObservationEntry(
          connection: connection(), pattern: text(), object: text(), suspension: any(), isAwaited: oneIn(2)))
    case 3:
      return .delegate(delegateEntry())
    case 4:
      return .hold(
        HoldEntry(
          connection: connection(), delegate: identity(), pattern: text(), object: text(),
          why: text(lengthMax: 500), age: integer(), remaining: integer()))
    case 5:
      return .missing(MissingEntry(name: text()))
    case 6:
      return .object(
        ObjectEntry(object: text(), protocolName: text(), delegates: integer(), connection: connection()))
    case 7:
      return .protocol(
        ProtocolEntry(
          name: text(), parents: texts(countMax: 20), members: integer(), connection: connection(),
          documentation: text(lengthMax: 500)))
    case 8:
      return .retained(
        RetainedEntry(
          connection: connection(), uid: integer(), name: text(), object: text(), length: integer(),
          age: integer()))
    default:
      return .member(
        MemberEntry(
          origin: text(), kind: any(), isRequired: oneIn(2), name: text(), parameters: text(lengthMax: 500),
          result: text(), documentation: text(lengthMax: 500)))
    }
  }

  fileprivate mutating func delegateEntry() -> DelegateEntry {
    DelegateEntry(
      connection: connection(), delegate: identity(), object: text(), order: integer(), failurePolicy: any(),
      timeout: integer(), patterns: texts(countMax: 20))
  }
}
