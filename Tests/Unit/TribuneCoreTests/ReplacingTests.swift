// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Setting a delegate", .timeLimit(.minutes(15)))
struct ReplacingTests {
  private let bus = BusUnderTest()

  @Test("Replaces the whole chain of an object, and notifies the replaced delegates after the ok")
  func replaces() throws {
    let (one, other, setter) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], to: "o", by: one, serial: 1, order: 5)
    bus.attach(["y"], to: "o", by: other, serial: 1, order: -5)
    bus.attach(["z"], to: "o", by: setter, serial: 1)
    _ = bus.take()
    bus.attach(["x"], to: "o", by: setter, serial: 2, isSet: true)
    bus.expect(
      "C ok 2 as 2 d4", "B ended 1 replaced by d4", "C ended 1 replaced by d4", "A ended 1 replaced by d4")
    #expect(try bus.chain("x", object: "o").map(\.delegate.id.rawValue) == [4])
    #expect(try bus.chain("y", object: "o").isEmpty)
    #expect(bus.delegateCount == 1)
    #expect([one, other, setter].map { bus.counts(at: $0).delegates } == [0, 0, 1])
    bus.cancel(1, by: one)
    bus.attach(["x"], to: "o", by: one, serial: 1)
    bus.expect("A refused 902 notFound", "A ok 1 as 1 d5")
  }

  @Test("Without an object, replaces only those without an object that respond to some of the same names")
  func withoutObject() {
    let (one, other, third, setter) = (bus.connect(), bus.connect(), bus.connect(), bus.connect())
    bus.attach(["host.shouldReboot"], by: one, serial: 1)
    bus.attach(["window.*"], by: other, serial: 1)
    bus.attach(["window.shouldClose"], to: "o", by: third, serial: 1)
    _ = bus.take()
    bus.attach(["window.shouldClose"], by: setter, serial: 1, isSet: true)
    bus.expect("D ok 1 as 1 d4", "B ended 1 replaced by d4")
  }

  @Test(
    "Describes itself to the replaced delegates, with its first 16 patterns",
    arguments: [2, WireLimits.patternsPerDelegate])
  func byWhom(patternCount: Int) throws {
    bus.connectDelegate("x", to: "o")
    var ended: [Ended] = []
    bus.onEffect = { if case .ended(_, _, let it) = $0 { ended.append(it) } }
    let patterns = (1...patternCount).map { "x\($0)" }
    bus.attach(
      patterns, to: "o", by: bus.connect(pid: 77), serial: 2, order: 3, policy: .abstain, label: "new",
      isSet: true)
    guard case .replaced(let entry) = try #require(ended.first) else {
      Issue.record("\(ended)")
      return
    }
    let listed = try #require(bus.bus.delegateEntries(of: 0, for: nil).first)
    #expect(listed.patterns == patterns && entry.patterns == Array(patterns.prefix(16)))
    #expect(entry == listed || patternCount > 16)
    #expect(entry.delegate.peer.pid == 77 && entry.delegate.label == "new" && entry.order == 3)
  }

  @Test("Is refused, and replaces nothing, if the connection has an equal delegate")
  func sameAgain() throws {
    let (_, setter) = (bus.connectDelegate("x", to: "o"), bus.connect())
    bus.attach(["x"], to: "o", by: setter, serial: 1)
    _ = bus.take()
    let changes = bus.bus.changeCount
    bus.attach(["x"], to: "o", by: setter, serial: 2, isSet: true)
    bus.expect("B refused 2 conflict")
    #expect(bus.bus.changeCount == changes)
    #expect(try bus.chain("x", object: "o").map(\.delegate.id.rawValue) == [1, 2])
  }

  @Test("Replaces nothing if it is refused")
  func refused() throws {
    let bus = BusUnderTest { $0.delegatesMax = 1 }
    let (_, setter) = (bus.connectDelegate("x", to: "o"), bus.connect())
    bus.hold("**", by: setter, serial: 1)
    _ = bus.take()
    bus.attach(["x"], to: "o", by: setter, serial: 2, isSet: true)
    bus.attach(["x"], to: "o", by: setter, serial: 1, isSet: true)
    bus.attach(["a..b"], to: "o", by: setter, serial: 2, isSet: true)
    bus.attach([], to: "o", by: setter, serial: 2, isSet: true)
    bus.expect(
      "B refused 2 limitExceeded", "B refused 1 duplicateSerial", "B refused 2 invalidPattern",
      "B refused 2 invalidPattern")
    #expect(try bus.chain("x", object: "o").map(\.delegate.id.rawValue) == [1])
  }

  @Test("Succeeds at the limit of a connection if it replaces that connection's own delegate")
  func ownRoom() {
    let bus = BusUnderTest { $0.delegatesMax = 1 }
    let slot = bus.connect()
    bus.attach(["x"], to: "o", by: slot, serial: 1)
    bus.attach(["y"], to: "o", by: slot, serial: 2, isSet: true)
    bus.expect("A ok 1 as 1 d1", "A ok 2 as 2 d2", "A ended 1 replaced by d2")
    #expect(bus.counts(at: slot).delegates == 1)
  }

  @Test("Makes a replaced delegate gone in open queries, which do not ask the new one")
  func duringQuery() {
    let (asker, one, setter) = (bus.connect(), bus.connectDelegate("shouldX", to: "o"), bus.connect())
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    _ = bus.take()
    bus.attach(["shouldX"], to: "o", by: setter, serial: 2, isSet: true)
    bus.expect("C ok 2 as 2 d2", "B ended 1 replaced by d2", "A verdict 5 q1 vetoed: d1 gone")
    bus.answer(.approve, delegate: 1, from: one)
    bus.expect("B refused 900 notAsked")
    bus.ask("shouldX", object: "o", by: asker, serial: 6)
    bus.expect("C question 2 q2 d2 5000ms shouldXo")
  }

  @Test("One delegate replaces no more than a connection can have")
  func tooMany() {
    let bus = BusUnderTest { $0.delegatesMax = 2 }
    let slots = (0..<3).map { _ in bus.connect() }
    for slot in slots { bus.attach(["a"], to: "o", by: slot, serial: 1) }
    _ = bus.take()
    bus.attach(["b"], to: "o", by: slots[0], serial: 2, isSet: true)
    bus.expect("A refused 2 limitExceeded")
    bus.cancel(1, by: slots[2])
    _ = bus.take()
    bus.attach(["b"], to: "o", by: slots[0], serial: 3, isSet: true)
    bus.expect("A ok 3 as 3 d4", "A ended 1 replaced by d4", "B ended 1 replaced by d4")
  }

  @Test("The ids of replaced delegates, which the log keeps, are charged")
  func charged() throws {
    let byteCounts = [1, 9].map { count in
      let bus = BusUnderTest()
      let (one, other) = (bus.connect(uid: 1000), bus.connect(uid: 1000))
      for serial in 1...Serial(count) { bus.attach(["a\(serial)"], to: "o", by: one, serial: serial) }
      bus.attach(["b"], to: "o", by: other, serial: 1, isSet: true)
      return bus.userByteCounts[1000] ?? 0
    }
    #expect(byteCounts[1] == byteCounts[0] + 8 * 8)
  }
}
