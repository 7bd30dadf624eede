// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Holds", .timeLimit(.minutes(15)))
struct HoldTests {
  private let bus = BusUnderTest()

  @Test(
    "A hold vetoes matching names, for one object or for any; a query without an object is about all",
    arguments: [
      ("shouldX", "", "shouldX", "", true), ("shouldX", "", "shouldX", "o", true),
      ("shouldX", "", "shouldY", "", false),
      ("shouldX", "o", "shouldX", "o", true), ("shouldX", "o", "shouldX", "p", false),
      ("shouldX", "o", "shouldX", "", true),
      ("", "", "a.shouldB", "o", true), ("", "o", "a.shouldB", "o", true), ("", "o", "a.shouldB", "", true),
      ("**", "", "a.b.shouldC", "", true), ("**", "", "shouldX", "o", true),
      ("a.*", "", "a.shouldB", "", true),
      ("a.*", "", "shouldA", "", false), ("a.*", "", "a.b.shouldC", "", false),
      ("a.**", "o", "a.b.shouldC", "o", true),
    ] as [(String, String, String, String, Bool)])
  func matching(pattern: String, of object: String, name: String, about: String, isHeld: Bool) {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.hold(pattern, object: object, by: holder, serial: 1)
    _ = bus.take()
    for serial in 5...6 {
      bus.ask(name, object: about, by: asker, serial: Serial(serial))
      let verdict = isHeld ? "vetoed: d1 held (busy)" : "allowed?"
      bus.expect("A verdict \(serial) q\(serial - 4) \(verdict)")
    }
  }

  @Test("A hold ends a query before a delegate is asked", arguments: [QueryMode.parallel, .order])
  func nobodyAsked(_ mode: QueryMode) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX", to: "o"))
    bus.hold("**", by: delegate, serial: 2)
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: asker, serial: 5, mode: mode, fallback: .allowed)
    bus.expect("A verdict 5 q1 vetoed: d2 held (busy)")
    #expect(bus.verdictCounts == [1, 1])
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.expect("B refused 900 notAsked")
    #expect(bus.queryCount == 0)
  }

  @Test("The verdict has all holds, including the asker's own, the oldest first", arguments: QueryMode.leave)
  func several(_ mode: QueryMode) {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.hold("shouldX", why: "one", by: holder, serial: 1)
    bus.hold("**", object: "o", why: "two", by: asker, serial: 1)
    bus.hold("shouldY", why: "none", by: asker, serial: 2)
    bus.hold("**", why: "three", by: holder, serial: 2)
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: asker, serial: 5, mode: mode)
    bus.expect("A verdict 5 q1 vetoed: d1 held (one), d2 held (two), d4 held (three)")
  }

  @Test("A hold that is taken while the question is open vetoes", arguments: QueryMode.leave)
  func duringTheQuestion(_ mode: QueryMode) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX", to: "o"))
    bus.ask("shouldX", object: "o", by: asker, serial: 5, mode: mode)
    bus.hold("shouldY", why: "another", by: asker, serial: 1)
    bus.hold("shouldX", object: "o", by: delegate, serial: 2)
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(bus.take().contains("A verdict 5 q1 vetoed: d3 held (busy), d1 approved"))
    #expect(bus.verdictCounts == [1, 1])
  }

  @Test("A hold that has ended before the verdict does not veto, unless the query met it")
  func endedBeforeTheVerdict() {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX", to: "o"))
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    bus.hold("shouldX", by: asker, serial: 1)
    bus.cancel(1, by: asker, serial: 2)
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(bus.take().contains("A verdict 5 q1 allowed: d1 approved"))
  }

  @Test("An override that goes past such a hold names it")
  func overriddenDuringTheQuestion() throws {
    let (asker, delegate) = (bus.connect(uid: 0), bus.connectDelegate("shouldX", to: "o"))
    bus.ask("shouldX", object: "o", by: asker, serial: 5, flags: .overrides, because: "flood")
    bus.hold("shouldX", by: delegate, serial: 2)
    bus.answer(.approve, delegate: 1, from: delegate)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.verdict == .allowed && verdict.isOverridden)
    #expect(verdict.outcomes.map(\.outcome) == [.held, .approved])
  }

  @Test("A hold does not veto a query for values that is open")
  func duringAQueryForValues() {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x", to: "o"))
    bus.ask("x", object: "o", by: asker, serial: 5, mode: .first)
    bus.hold("**", by: asker, serial: 1)
    bus.answer(.value, delegate: 1, from: delegate)
    #expect(bus.lastVerdict?.verdict == .allowed)
  }

  @Test("A hold names its owner")
  func owner() throws {
    let (asker, holder) = (bus.connect(), bus.connect(pid: 77, uid: 5))
    bus.hold("shouldX", by: holder, serial: 1)
    bus.ask("shouldX", by: asker, serial: 5)
    let outcome = try #require(bus.lastVerdict?.outcomes.first)
    #expect(outcome.delegate.peer.pid == 77 && outcome.delegate.peer.uid == 5)
    #expect(outcome.delegate.label.isEmpty && outcome.elapsed == 0)
  }

  @Test("The bus's user may hold for another process, which verdicts and lists then name")
  func otherHolder() throws {
    let (asker, root) = (bus.connect(), bus.connect(uid: 0))
    let other = PeerIdentity(
      pid: 77, uid: 5, gid: 5, process: "backup", units: PeerUnits(system: "backup.service"))
    bus.hold("shouldX", holder: other, by: root, serial: 1)
    bus.ask("shouldX", by: asker, serial: 5)
    #expect(bus.lastVerdict?.outcomes.first?.delegate.peer == other)
    #expect(bus.bus.holdEntries(of: 0, for: nil, at: bus.now).map(\.delegate.peer) == [other])
    _ = bus.take()
    bus.disconnect(root)
    bus.ask("shouldX", by: asker, serial: 6)
    bus.expect("A verdict 6 q2 allowed?")
  }

  @Test("No other user may hold for another process, and its names are short")
  func refusedHolder() {
    let (user, root) = (bus.connect(), bus.connect(uid: 0))
    bus.hold(
      "shouldX", holder: PeerIdentity(pid: 1, uid: 1000, gid: 1000, process: "", units: PeerUnits()),
      by: user,
      serial: 1)
    bus.expect("A refused 1 notPermitted")
    let long = String(repeating: "n", count: 256)
    bus.hold(
      "shouldX", holder: PeerIdentity(pid: 1, uid: 0, gid: 0, process: long, units: PeerUnits()), by: root,
      serial: 2)
    bus.expect("B refused 2 limitExceeded")
    #expect(bus.bus.holdCount == 0)
  }

  @Test("A hold expires at its time, and its owner is notified")
  func expiry() {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.hold("shouldX", for: 1000, by: holder, serial: 1)
    bus.expect("B ok 1 as 1 d1")
    bus.advance(milliseconds: 999)
    bus.ask("shouldX", by: asker, serial: 5)
    bus.expect("A verdict 5 q1 vetoed: d1 held (busy)")
    #expect(bus.nextDeadline == bus.now.advanced(byMilliseconds: 1))
    bus.advance(milliseconds: 1)
    bus.expect("B ended 1 expired")
    bus.ask("shouldX", by: asker, serial: 6)
    bus.expect("A verdict 6 q2 allowed?")
    #expect(bus.isEmpty)
    bus.cancel(1, by: holder)
    bus.hold("shouldX", by: holder, serial: 1)
    bus.expect("B refused 902 notFound", "B ok 1 as 1 d2")
  }

  @Test("Holds expire in the order of their times", arguments: Seeds.all)
  func manyExpiries(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let holder = bus.connect()
    var moments: [(due: UInt32, serial: Serial)] = []
    for serial in 1...200 as ClosedRange<Serial> {
      let due = UInt32.random(in: 1...5000, using: &random)
      bus.hold("shouldX", for: due, by: holder, serial: serial)
      if random.oneIn(3) { bus.cancel(serial, by: holder) } else { moments.append((due, serial)) }
    }
    _ = bus.take()
    let started = bus.now
    while bus.advanceToNextDeadline() {
      let elapsed = bus.now.nanoseconds(since: started) / 1_000_000
      let expected = moments.filter { $0.due == elapsed }.map { "A ended \($0.serial) expired" }
      #expect(!expected.isEmpty && Set(bus.take()) == Set(expected))
    }
    #expect(bus.isEmpty)
  }

  @Test("A hold has to expire after now, and before the end of the clock")
  func wrongExpiry() {
    let (holder, now, end) = (bus.connect(), bus.now.nanoseconds, WireLimits.expiry)
    for expiry in [1, now - 500_000_000, now - 1, now, end + 1, UInt64.max - 1, UInt64.max] {
      bus.send(Hold(expiry: expiry), from: holder, serial: 1, name: "shouldX", text: "why")
      bus.expect("A refused 1 invalidValue")
    }
    #expect(bus.isEmpty)
    for expiry in [now + 1, end] {
      bus.send(Hold(expiry: expiry), from: holder, serial: 1, name: "shouldX", text: "why")
      #expect(bus.nextDeadline == Instant(nanoseconds: expiry))
      let remaining = bus.bus.holdEntries(of: 0, for: nil, at: bus.now).map(\.remaining)
      #expect(remaining == [max(1, (expiry - now) / 1000)])
      bus.cancel(1, by: holder)
    }
    bus.expect("A ok 1 as 1 d1", "A ok 902", "A ok 1 as 1 d2", "A ok 902")
  }

  @Test(
    "A hold lasts no longer than every rule allows whose queries it can veto",
    arguments: [
      ("host.shouldReboot", nil, 4000), ("host.shouldReboot", 3000, 3000), ("host.shouldReboot", 4001, 4000),
      ("host.shouldSuspend", nil, 6000), ("host.*", nil, 4000), ("**", 9000, 2000), ("a.shouldB", nil, nil),
      ("a.shouldB", 5000, 5000), ("db.shouldStop", nil, 2000),
    ] as [(String, UInt32?, UInt32?)])
  func limited(pattern: String, wanted: UInt32?, allowed: UInt32?) throws {
    bus.bus.policy.queryRules = try [("host.shouldReboot", 4), ("host.*", 6), ("db.**", 2)].map {
      .init(pattern: try Pattern($0), holdMax: TimeSpan(microseconds: $1 * 1_000_000))
    }
    let holder = bus.connect()
    let end = allowed.map { bus.now.advanced(byMilliseconds: $0).nanoseconds }
    bus.onEffect = { if case .okay(_, _, let okay) = $0 { #expect(okay.expiry == end ?? 0) } }
    bus.hold(pattern, for: wanted, by: holder, serial: 1)
    bus.expect("A ok 1 as 1 d1")
    // A reload leaves standing holds as they are.
    bus.bus.policy.queryRules = [.init(pattern: .any, holdMax: TimeSpan(microseconds: 1_000_000))]
    guard let allowed else { return #expect(bus.nextDeadline == nil) }
    bus.advance(milliseconds: allowed - 1)
    bus.expect()
    bus.advance(milliseconds: 1)
    bus.expect("A ended 1 expired")
  }

  @Test("A shortened hold does not grow by a restart, whatever the configuration is by then")
  func limitedOverRestart() {
    bus.bus.policy.queryRules = [.init(pattern: .any, holdMax: TimeSpan(microseconds: 4_000_000))]
    bus.log = []
    let holder = bus.connect()
    bus.hold("a.*", by: holder, serial: 1)
    bus.hold("a.*", for: 1000, by: holder, serial: 2)
    bus.bus.policy.queryRules = []
    bus.hold("b.*", by: holder, serial: 3)
    bus.expect("A ok 1 as 1 d1", "A ok 2 as 2 d2", "A ok 3 as 3 d3")
    for rules in [[], [BusPolicy.QueryRule(pattern: .any, holdMax: TimeSpan(microseconds: 2_000_000))]] {
      bus.bus.policy.queryRules = rules
      bus.restart(.replay)
    }
    bus.advance(milliseconds: 3999)
    bus.expect("A ended 2 expired")
    bus.advance(milliseconds: 1)
    bus.expect("A ended 1 expired")
    #expect(bus.nextDeadline == nil)
  }

  @Test("A cancelled hold is no veto, and does not expire")
  func release() {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.hold("shouldX", for: 1000, by: holder, serial: 1)
    bus.cancel(1, by: asker)
    bus.cancel(1, by: holder)
    bus.expect("B ok 1 as 1 d1", "A refused 902 notFound", "B ok 902")
    #expect(bus.isEmpty)
    bus.ask("shouldX", by: asker, serial: 5)
    bus.advance(milliseconds: 2000)
    bus.expect("A verdict 5 q1 allowed?")
  }

  @Test(
    "An invalid hold is refused",
    arguments: [
      ("a..b", "", "why", 1, .invalidPattern), ("a.b*", "", "why", 1, .invalidPattern),
      ("**.a", "", "why", 1, .invalidPattern), ("**", "\n", "why", 1, .invalidObject),
      ("**", "", "", 1, .invalidValue), ("**", "", "why", 0, .invalidValue),
      ("**", "", " \t\u{3000}\u{200B}", 1, .invalidValue),
      // These would hold nothing.
      ("shop.deploy", "", "why", 1, .invalidPattern), ("prune", "", "why", 1, .invalidPattern),
      ("backup.should", "", "why", 1, .invalidPattern), ("*.deploy", "", "why", 1, .invalidPattern),
      ("backup.shouldPrune.x", "", "why", 1, .invalidPattern),
      ("shop.shoulder", "", "why", 1, .invalidPattern),
      ("host.reboot", "", "why", 1, .invalidPattern), ("host.shouldreboot", "", "why", 1, .invalidPattern),
      ("a.willRun", "", "why", 1, .invalidPattern), ("*.mayRun", "", "why", 1, .invalidPattern),
      ("*", "", "why", 1, .invalidPattern), ("package.*", "", "why", 1, .invalidPattern),
      ("unit.shouldStart", "nginx.service", "why", 1, .invalidObject),
      ("a.shouldRun", "repo/*", "why", 1, .invalidObject), ("**", "**", "why", 1, .invalidObject),
    ] as [(String, String, String, Serial, ErrorCode)])
  func refused(_ pattern: String, _ object: String, _ why: String, _ serial: Serial, _ code: ErrorCode) {
    bus.hold(pattern, object: object, why: why, by: bus.connect(), serial: serial)
    bus.expect("A refused \(serial) \(code)")
    #expect(bus.isEmpty)
  }

  @Test("A user's bus refuses holds, delegates and questions about the host, which nobody asks there")
  func userBus() {
    let bus = BusUnderTest { $0.isForUser = true }
    let slot = bus.connect()
    bus.hold("host.shouldReboot", by: slot, serial: 1)
    bus.hold("packages.*", by: slot, serial: 1)
    bus.hold("*.shouldReboot", by: slot, serial: 1)
    bus.hold("*.shouldChange", by: slot, serial: 1)
    bus.attach(["a.shouldB", "host.**"], by: slot, serial: 1)
    bus.ask("host.shouldReboot", by: slot, serial: 1)
    bus.ask("host.enforcement", by: slot, serial: 1, mode: .first)
    bus.hold("**", by: slot, serial: 2)
    #expect(
      bus.take() == Array(repeating: "A refused 1 invalidPattern", count: 5)
        + ["A refused 1 invalidName", "A verdict 1 q1 vetoed?", "A ok 2 as 2 d1"])
  }

  @Test("A hold's serial is in use until it ends, and its reason is cut at 4,096 bytes")
  func serialAndWhy() {
    let slot = bus.connect()
    bus.hold("shouldX", why: String(repeating: "ä", count: 2049), by: slot, serial: 1)
    bus.hold("shouldY", by: slot, serial: 1)
    bus.attach(["shouldY"], by: slot, serial: 1)
    bus.observe(by: slot, serial: 1)
    bus.ask("shouldY", by: slot, serial: 1)
    #expect(bus.take() == ["A ok 1 as 1 d1"] + Array(repeating: "A refused 1 duplicateSerial", count: 4))
    bus.ask("shouldX", by: slot, serial: 5)
    #expect(bus.lastVerdict?.outcomes.first?.reason == String(repeating: "ä", count: 2048))
  }

  @Test("Holds and delegates of a connection share a limit")
  func limit() {
    let bus = BusUnderTest { $0.delegatesMax = 2 }
    let (slot, other) = (bus.connect(), bus.connect())
    bus.hold("shouldX", for: 1000, by: slot, serial: 1)
    bus.attach(["shouldX"], by: slot, serial: 2)
    bus.hold("shouldY", by: slot, serial: 3)
    bus.attach(["shouldY"], by: slot, serial: 4)
    bus.hold("shouldX", by: other, serial: 1)
    bus.expect(
      "A ok 1 as 1 d1", "A ok 2 as 2 d2", "A refused 3 limitExceeded", "A refused 4 limitExceeded",
      "B ok 1 as 1 d3")
    bus.advance(milliseconds: 1000)
    bus.hold("shouldY", by: slot, serial: 3)
    bus.expect("A ended 1 expired", "A ok 3 as 3 d4")
  }

  @Test("An explanation has the holds first, with their age and remaining time")
  func explained() throws {
    let (one, other) = (bus.connect(pid: 7), bus.connect())
    bus.attach(["shouldX"], by: other, serial: 1)
    bus.hold("shouldX", why: "one", for: 2000, by: one, serial: 1)
    bus.advance(milliseconds: 500)
    bus.hold("**", object: "o", why: "two", by: other, serial: 2)
    let entries = try bus.explain("shouldX", object: "o")
    guard entries.count == 3, case .hold(let first) = entries[0], case .hold(let second) = entries[1],
      case .delegate(let delegate) = entries[2]
    else {
      Issue.record("\(entries)")
      return
    }
    #expect(first.why == "one" && first.age == 500_000 && first.remaining == 1_500_000)
    #expect(first.delegate.peer.pid == 7 && first.connection == ConnectionID(rawValue: 1))
    #expect(first.pattern == "shouldX" && first.object.isEmpty)
    #expect(second.why == "two" && second.age == 0 && second.remaining == 0 && second.object == "o")
    #expect(delegate.delegate.id == DelegateID(rawValue: 1))
    #expect(try bus.explain("shouldX").count == 3 && bus.explain("shouldY").count == 1)
    #expect(try bus.explain("shouldX", object: "p").count == 2 && bus.explain("shouldY", object: "p").isEmpty)
    #expect(bus.bus.holdEntries(of: 0, for: nil, at: bus.now).map(\.why) == ["one", "two"])
    #expect(bus.bus.holdEntries(of: 2, for: nil, at: bus.now).map(\.why) == ["two"])
    #expect(bus.bus.holdEntries(of: 3, for: nil, at: bus.now).isEmpty)
  }
}

extension QueryMode {
  static let leave = allCases.filter { !$0.isForValues }
}
