// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Actions under way", .timeLimit(.minutes(15)))
struct ActionTests {
  private let bus = BusUnderTest()
  private let asker: ConnectionSlot
  private let holder: ConnectionSlot

  init() {
    bus.log = []
    (asker, holder) = (bus.connect(), bus.connect())
  }

  private func ask(
    _ name: String = "shouldX", object: String = "", serial: Serial = 5, flags: QueryFlags = [],
    slots: UInt32 = 0
  ) {
    bus.ask(
      name, object: object, by: asker, serial: serial, flags: flags.union(.begins), because: "must",
      slots: slots)
  }

  private func begin(
    _ name: String = "shouldX", object: String = "", continuing query: UInt64 = 0, by slot: ConnectionSlot,
    serial: Serial
  ) {
    bus.send(Begin(query: QueryID(rawValue: query)), from: slot, serial: serial, name: name, object: object)
  }

  private func expectLate(
    _ count: UInt32, _ pattern: String = "shouldX", object: String = "", serial: Serial = 1,
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    var late: UInt32?
    bus.onEffect = { if case .okay(_, serial, let okay) = $0 { late = okay.late } }
    bus.hold(pattern, object: object, by: holder, serial: serial)
    bus.onEffect = nil
    #expect(late == count, sourceLocation: sourceLocation)
    _ = bus.take()
  }

  @Test("An allowed query begins its action, and a hold learns that it is too late, and when it has ended")
  func begins() {
    ask()
    bus.expect("A verdict 5 q1 allowed?")
    #expect(bus.bus.actionCount == 1 && bus.queryCount == 0)
    expectLate(1)
    bus.cancel(5, by: asker)
    bus.expect("B late 1 d1 0", "A ok 902")
    #expect(bus.bus.actionCount == 0)
    expectLate(0, serial: 2)
  }

  @Test("A user has few actions under way, root many; at the limit, one can still move")
  func limit() {
    func began(uid: UInt32) -> Int {
      let slots = [bus.connect(uid: uid), bus.connect(uid: uid)]
      let before = bus.bus.actionCount
      for serial in 1...300 { begin(by: slots[0], serial: Serial(serial)) }
      let count = bus.bus.actionCount - before
      _ = bus.take()
      begin(continuing: UInt64(before + 1), by: slots[1], serial: 1)
      bus.expect("\(slots[1].letter) ok 1 as 1")
      return count
    }
    #expect(began(uid: 1001) == 256)
    #expect(began(uid: 0) == 300)
  }

  @Test("A vetoed query begins nothing, and an overridden one does", arguments: [false, true])
  func decided(isOverridden: Bool) {
    bus.hold("shouldX", by: holder, serial: 1)
    ask(flags: isOverridden ? .overrides : [])
    #expect(bus.bus.actionCount == (isOverridden ? 1 : 0))
  }

  @Test("An action begins with the last answer, in the transaction of the verdict")
  func afterAnswers() {
    bus.attach(["shouldX"], by: holder, serial: 3)
    ask()
    #expect(bus.bus.actionCount == 0)
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: holder)
    bus.expect("A verdict 5 q1 allowed: d1 approved", "B concluded 3 q1 d1 allowed")
    #expect(bus.bus.actionCount == 1)
    expectLate(1)
  }

  @Test(
    "A hold is too late for actions that it could have vetoed",
    arguments: [
      ("shouldX", "", "shouldX", "", 1), ("shouldX", "o", "shouldX", "", 1),
      ("shouldX", "", "shouldX", "o", 1),
      ("shouldX", "o", "shouldX", "o", 1), ("shouldX", "o", "shouldX", "p", 0),
      ("shouldX", "o", "shouldY", "o", 0), ("a.shouldX", "o", "a.*", "o", 1),
      ("shouldX", "caf\u{e9}", "shouldX", "cafe\u{301}", 0),
    ] as [(String, String, String, String, UInt32)])
  func matching(name: String, about: String, pattern: String, object: String, late: UInt32) {
    ask(name, object: about)
    expectLate(late, pattern, object: object)
  }

  @Test(
    "As many actions as there are slots veto the next one with that name and object",
    arguments: [
      ("shouldX", "", "shouldX", "", 1, false), ("shouldX", "", "shouldX", "", 2, true),
      ("shouldX", "o", "shouldX", "", 1, false), ("shouldX", "", "shouldX", "o", 1, false),
      ("shouldX", "o", "shouldX", "o", 1, false), ("shouldX", "o", "shouldX", "p", 1, true),
      ("shouldX", "o", "shouldY", "o", 1, true), ("shouldX", "o", "shouldX", "o", 0, true),
    ] as [(String, String, String, String, UInt32, Bool)])
  func slots(name: String, object: String, next: String, of other: String, slots: UInt32, isAllowed: Bool) {
    ask(name, object: object)
    _ = bus.take()
    ask(next, object: other, serial: 6, slots: slots)
    if isAllowed {
      bus.expect("A verdict 6 q2 allowed?")
    } else {
      bus.expect("A verdict 6 q2 vetoed: d0 held (\(name) is under way)")
    }
    guard !isAllowed else { return }
    bus.cancel(5, by: asker)
    _ = bus.take()
    ask(next, object: other, serial: 7, slots: slots)
    bus.expect("A verdict 7 q3 allowed?")
  }

  @Test("Of two queries that wait for the same delegate, one gets the only slot")
  func slotTakenMeanwhile() {
    bus.attach(["shouldX"], by: holder, serial: 3)
    ask(serial: 5, slots: 1)
    ask(serial: 6, slots: 1)
    _ = bus.take()
    bus.answer(.approve, query: 2, delegate: 1, from: holder)
    bus.expect("A verdict 6 q2 allowed: d1 approved", "B concluded 3 q2 d1 allowed")
    bus.answer(.approve, delegate: 1, from: holder)
    bus.expect(
      "A verdict 5 q1 vetoed: d0 held (shouldX is under way), d1 approved", "B concluded 3 q1 d1 vetoed")
    #expect(bus.bus.actionCount == 1)
  }

  @Test("Those that wait for a slot begin in the order of their places", arguments: Restart.allCases)
  func line(_ restart: Restart) {
    let third = bus.connect()
    func wait(by slot: ConnectionSlot) {
      bus.send(Begin(query: QueryID(rawValue: 0), stage: .waiting), from: slot, serial: 1, name: "shouldX")
    }
    func begin(by slot: ConnectionSlot, serial: Serial) {
      bus.ask("shouldX", by: slot, serial: serial, flags: .begins, slots: 1)
    }
    ask()
    wait(by: holder)
    wait(by: third)
    _ = bus.take()
    bus.restart(restart)
    bus.cancel(5, by: asker)
    _ = bus.take()
    begin(by: third, serial: 2)
    bus.expect("C verdict 2 q4 vetoed: d0 held (waits for shouldX, and came before)")
    ask(serial: 6, slots: 1)
    bus.expect(
      "A verdict 6 q5 vetoed: d0 held (waits for shouldX, and came before), "
        + "d0 held (waits for shouldX, and came before)")
    begin(by: holder, serial: 2)
    bus.expect("B verdict 2 q6 allowed?")
    bus.disconnect(holder)
    begin(by: third, serial: 3)
    bus.expect("C verdict 3 q7 allowed?")
    #expect(bus.bus.actionCount == 1)
  }

  @Test("A place in the line has no hold that is too late for it, and cannot move")
  func place() {
    bus.send(Begin(query: QueryID(rawValue: 0), stage: .waiting), from: asker, serial: 5, name: "shouldX")
    expectLate(0)
    begin(continuing: 1, by: holder, serial: 2)
    bus.expect("B refused 2 notFound")
    bus.cancel(5, by: asker)
    bus.expect("A ok 902")
  }

  private func claim(object: String = "", serial: Serial = 8) {
    _ = bus.take()
    bus.send(
      Begin(query: QueryID(rawValue: 0), stage: .claiming), from: asker, serial: serial, name: "shouldX",
      object: object)
    bus.expect("A ok \(serial) as \(serial)")
  }

  @Test("A hold that comes after a claim waits, and vetoes all others", arguments: Restart.allCases)
  func claims(_ restart: Restart) {
    bus.hold("shouldX", by: holder, serial: 7)
    _ = bus.take()
    claim()
    expectLate(1)
    bus.restart(restart)
    ask()
    bus.expect("A verdict 5 q2 vetoed: d1 held (busy)")
    bus.cancel(7, by: holder)
    _ = bus.take()
    bus.ask("shouldX", by: holder, serial: 6)
    bus.expect("B verdict 6 q3 vetoed: d2 held (busy)")
    ask(serial: 6)
    bus.expect("A verdict 6 q4 allowed?")
    bus.cancel(8, by: asker)
    bus.expect("A ok 902")
    ask(serial: 9)
    bus.expect("A verdict 9 q5 vetoed: d2 held (busy)")
    bus.restart(restart)
    bus.cancel(6, by: asker)
    bus.expect("B late 1 d2 0", "A ok 902")
  }

  @Test(
    "A claim that is given up, or whose connection ends, lets the holds behind it go",
    arguments: [true, false])
  func claimEnds(isGivenUp: Bool) {
    claim()
    expectLate(1)
    if isGivenUp {
      bus.cancel(8, by: asker)
      bus.expect("B late 1 d1 0", "A ok 902")
      ask()
      bus.expect("A verdict 5 q2 vetoed: d1 held (busy)")
    } else {
      bus.disconnect(asker)
      bus.expect("B late 1 d1 0")
    }
  }

  @Test("A claim is about its own object, and passes no wider hold that came before")
  func claimedObject() {
    bus.hold("**", object: "o", by: holder, serial: 7)
    claim(object: "p")
    expectLate(1)
    expectLate(0, object: "o", serial: 2)
    ask(object: "p")
    bus.expect("A verdict 5 q2 allowed?")
    ask(serial: 6)
    bus.expect("A verdict 6 q3 vetoed: d1 held (busy), d2 held (busy), d3 held (busy)")
  }

  @Test("A hold that comes while the claimer's query is open does not veto it")
  func claimedWhileOpen() {
    bus.attach(["shouldX"], by: holder, serial: 7)
    claim()
    ask()
    _ = bus.take()
    expectLate(1)
    bus.answer(.approve, query: 2, delegate: 1, from: holder)
    bus.expect("A verdict 5 q2 allowed: d1 approved", "B concluded 7 q2 d1 allowed")
  }

  @Test("An override goes past full slots")
  func overriddenSlots() {
    ask()
    ask(serial: 6, flags: .overrides, slots: 1)
    #expect(bus.bus.actionCount == 2)
  }

  @Test("A delegate that attaches learns of the actions that it could have vetoed")
  func lateDelegate() {
    ask(object: "o")
    var late: UInt32?
    bus.onEffect = { if case .okay(_, 1, let okay) = $0 { late = okay.late } }
    bus.attach(["shouldY", "shouldX"], to: "o", by: holder, serial: 1)
    #expect(late == 1)
  }

  @Test("A hold settles with the last of the actions, and not with later ones")
  func settles() {
    ask(serial: 5)
    ask(object: "o", serial: 6)
    expectLate(2)
    bus.cancel(6, by: asker)
    bus.expect("A ok 902")
    ask(serial: 7, flags: .overrides)
    _ = bus.take()
    bus.cancel(7, by: asker)
    bus.expect("A ok 902")
    bus.cancel(5, by: asker, serial: 903)
    bus.expect("B late 1 d1 0", "A ok 903")
  }

  @Test("An action that has begun without the bus is older than every hold", arguments: Restart.allCases)
  func begunBefore(_ restart: Restart) {
    bus.hold("shouldX", object: "o", by: holder, serial: 1)
    bus.hold("shouldX", object: "p", by: holder, serial: 2)
    _ = bus.take()
    begin(object: "o", by: asker, serial: 5)
    bus.expect("A ok 5 as 5", "B late 1 d1 1")
    bus.restart(restart)
    bus.cancel(5, by: asker)
    bus.expect("B late 1 d1 0", "A ok 902")
  }

  @Test("A hold that was released before is not told")
  func released() {
    ask()
    expectLate(1)
    bus.cancel(1, by: holder, serial: 2)
    _ = bus.take()
    bus.cancel(5, by: asker)
    bus.expect("A ok 902")
  }

  @Test("An action ends with its connection")
  func disconnected() {
    ask()
    expectLate(1)
    bus.disconnect(asker)
    bus.expect("B late 1 d1 0")
    #expect(bus.bus.actionCount == 0)
  }

  @Test("An action moves to another connection of its user, without an end")
  func moves() {
    ask(object: "o")
    expectLate(1)
    let (other, stranger) = (bus.connect(), bus.connect(uid: 4))
    begin(object: "o", continuing: 1, by: stranger, serial: 1)
    bus.expect("D refused 1 notFound")
    begin(object: "p", continuing: 1, by: other, serial: 1)
    bus.expect("C refused 1 notFound")
    begin(object: "o", continuing: 1, by: other, serial: 2)
    bus.expect("C ok 2 as 2")
    bus.cancel(5, by: asker)
    bus.expect("A refused 902 notFound")
    bus.disconnect(asker)
    #expect(bus.take().isEmpty)
    bus.disconnect(other)
    bus.expect("B late 1 d1 0")
  }

  @Test("What begins nothing is refused")
  func refused() {
    ask(serial: 5, flags: .isDryRun)
    bus.ask("numberOfRows", by: asker, serial: 6, mode: .first, flags: .begins)
    ask("rows", serial: 10)
    begin("rows", by: asker, serial: 7)
    begin("a.*", by: asker, serial: 8)
    begin("tribune.shouldX", by: asker, serial: 9)
    bus.expect(
      "A refused 5 invalidValue", "A refused 6 invalidValue", "A refused 10 invalidName",
      "A refused 7 invalidName", "A refused 8 invalidName", "A refused 9 reservedName")
    #expect(bus.bus.actionCount == 0)
  }

  @Test("Actions count as requests of their connection")
  func limited() {
    let bus = BusUnderTest { $0.queriesMax = 2 }
    let asker = bus.connect()
    for serial in 1...3 as ClosedRange<Serial> {
      bus.ask("shouldX", by: asker, serial: serial, flags: .begins)
    }
    bus.expect("A verdict 1 q1 allowed?", "A verdict 2 q2 allowed?", "A refused 3 limitExceeded")
  }

  @Test("Observers learn of the beginning and the end")
  func announced() {
    bus.observe("tribune.action.*", by: holder, serial: 9)
    _ = bus.take()
    ask(object: "o")
    bus.expect(
      "A verdict 5 q1 allowed?",
      "didConclude q1 shouldX on o: allowed parallel by :1, 0 vetoes, 0ms", "didBegin q1 of :1: shouldX on o")
    bus.cancel(5, by: asker)
    bus.expect("didEnd q1 of :1: shouldX on o", "A ok 902")
  }

  @Test("Lists and explanations have actions under way")
  func listed() throws {
    ask(object: "o")
    bus.elapse(milliseconds: 7)
    let entries = bus.bus.queryEntries(of: ConnectionID(rawValue: 1), for: nil, at: bus.now)
    #expect(
      entries.map(\.age) == [7_000] && entries.map(\.stage) == [.underWay]
        && entries.map(\.name) == ["shouldX"])
    func isExplained(_ object: String) throws -> Bool {
      try bus.explain("shouldX", object: object, for: nil).contains {
        if case .query = $0 { true } else { false }
      }
    }
    #expect(try isExplained("o") && isExplained("") && !isExplained("p"))
  }

  @Test("A restarted bus knows its actions, and the holds that were too late", arguments: Restart.allCases)
  func restarted(_ restart: Restart) {
    bus.hold("shouldX", object: "q", by: holder, serial: 7)
    ask(object: "o")
    expectLate(1, object: "o")
    ask(object: "o", serial: 6, flags: .overrides)
    _ = bus.take()
    bus.restart(restart)
    bus.cancel(6, by: asker)
    bus.expect("A ok 902")
    bus.cancel(5, by: asker, serial: 903)
    bus.expect("B late 1 d2 0", "A ok 903")
    #expect(bus.bus.actionCount == 0)
    bus.disconnect(asker)
    bus.disconnect(holder)
    #expect(bus.userByteCounts.isEmpty)
  }
}
