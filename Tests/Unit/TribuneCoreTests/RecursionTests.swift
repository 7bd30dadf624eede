// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Queries within queries", .timeLimit(.minutes(15)))
struct RecursionTests {
  @Test(
    "A query within one of the same name and object is refused, even if all else differs",
    arguments: QueryMode.allCases, QueryMode.allCases)
  func direct(_ outer: QueryMode, _ inner: QueryMode) {
    let (bus, asker, delegate) = Self.chain()
    bus.ask(outer.name, object: "o", by: asker, serial: 5, mode: outer, text: "1")
    _ = bus.take()
    bus.ask(outer.name, object: "o", by: delegate, serial: 6, mode: inner, text: "2", parent: 1)
    // A name is a question for permission, or one for values.
    let error: ErrorCode = inner.isForValues == outer.isForValues ? .recursion : .invalidName
    bus.expect("B refused 6 \(error)")
    #expect(bus.queryCount == 1 && bus.counts(at: delegate).queries == 0)
    bus.ask("shouldZ", by: delegate, serial: 6)
    bus.answer(.abstain, query: 1, delegate: 1, from: delegate)
    bus.answer(.abstain, query: 2, delegate: 1, from: delegate)
    #expect(bus.queryCount == 0)
  }

  @Test(
    "Another name or object is another query",
    arguments: [
      ("a.shouldY", "o"), ("a.shouldX", "p"), ("a.shouldX", ""), ("a.shouldXo", ""),
      ("a.shouldX.shouldO", ""),
      ("A.shouldX", "o"),
    ])
  func others(_ name: String, _ object: String) {
    let (bus, asker, delegate) = Self.chain()
    bus.ask("a.shouldX", object: "o", by: asker, serial: 5)
    _ = bus.take()
    bus.ask(name, object: object, by: delegate, serial: 6, parent: 1)
    #expect(bus.take().first?.contains("refused") == false)
  }

  @Test("A query within one of the same name and object is refused at any depth", arguments: [1, 2, 5])
  func indirect(_ count: Int) {
    let (bus, asker, delegate) = Self.chain()
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    for index in 1...count {
      let slot = index.isMultiple(of: 2) ? asker : delegate
      bus.ask("shouldY", object: "\(index)", by: slot, serial: Serial(10 + index), parent: UInt64(index))
    }
    _ = bus.take()
    #expect(bus.queryCount == count + 1)
    bus.ask("shouldX", object: "o", by: asker, serial: 6, parent: UInt64(count + 1))
    bus.ask("shouldY", object: "1", by: delegate, serial: 6, parent: UInt64(count + 1))
    bus.expect("A refused 6 recursion", "B refused 6 recursion")
    bus.ask("shouldX", object: "o", by: asker, serial: 6)
    bus.expect("B question 1 q\(count + 2) d1 5000ms shouldXo")
  }

  @Test("An unknown or ended parent does not count", arguments: [2, 3, 99, .max] as [UInt64])
  func unknownParent(_ parent: UInt64) {
    let (bus, asker, delegate) = Self.chain()
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    bus.ask("shouldX", object: "o", by: asker, serial: 6)
    bus.cancel(6, by: asker)
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: delegate, serial: 7, parent: parent)
    bus.expect("B question 1 q3 d1 5000ms shouldXo")
  }

  @Test("Ancestors above an ended query do not count")
  func brokenLine() {
    let (bus, asker, delegate) = Self.chain()
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    bus.ask("shouldY", by: delegate, serial: 6, parent: 1)
    bus.ask("shouldY", object: "o", by: delegate, serial: 7, parent: 2)
    bus.cancel(6, by: delegate)
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: delegate, serial: 8, parent: 3)
    bus.expect("B question 1 q4 d1 5000ms shouldXo")
  }

  @Test(
    "A query that did not ask a delegate of the asker's user does not count as a parent",
    arguments: QueryMode.allCases)
  func foreignParent(_ mode: QueryMode) {
    let (bus, asker, delegate) = Self.chain()
    let inner: QueryMode = mode.isForValues ? .first : .parallel
    let stranger = bus.connect(uid: 1001)
    bus.ask(mode.name, object: "o", by: asker, serial: 5, mode: mode)
    _ = bus.take()
    bus.ask(mode.name, object: "o", by: stranger, serial: 6, mode: inner, parent: 1)
    bus.expect("B question 1 q2 d1 5000ms \(mode.name)o")
    bus.ask(mode.name, object: "o", by: delegate, serial: 6, mode: inner, parent: 2)
    bus.expect("B refused 6 recursion")
    bus.ask("shouldY", by: delegate, serial: 6, parent: 2)
    bus.ask(mode.name, by: delegate, serial: 7, mode: inner, parent: 3)
    bus.ask("shouldY", object: "o", by: stranger, serial: 7, parent: 3)
    _ = bus.take()
    #expect(bus.queryCount == 5)
  }

  @Test("Strangers can nest queries to any depth, without an effect")
  func foreignDepth() {
    let bus = BusUnderTest()
    let asker = bus.connect(uid: 1001)
    bus.connectDelegate("**")
    for index in 0..<40 {
      bus.ask("shouldX", by: asker, serial: Serial(10 + index), parent: UInt64(index))
    }
    #expect(bus.queryCount == 40)
    // For the delegate's user, none of them is nested.
    bus.ask("shouldY", by: bus.connect(), serial: 1, parent: 40)
    #expect(bus.take().last == "B question 1 q41 d1 5000ms shouldY")
  }

  @Test(
    "A parent counts for all connections of a delegate's user once that delegate was asked",
    arguments: Restart.allCases)
  func askedDelegates(_ restart: Restart) {
    let bus = BusUnderTest()
    bus.log = []
    let asker = bus.connect(uid: 1)
    let first = bus.connectDelegate("shouldX", uid: 1001)
    let second = bus.connectDelegate("shouldX", uid: 1002)
    let (firstCommand, secondCommand) = (bus.connect(uid: 1001), bus.connect(uid: 1002))
    func ask(_ serial: Serial) {
      for command in [firstCommand, secondCommand] {
        bus.ask("shouldX", by: command, serial: serial, mode: .order, parent: 1)
      }
    }
    bus.ask("shouldX", by: asker, serial: 5, mode: .order)
    bus.expect("B question 1 q1 d1 5000ms shouldX")
    bus.restart(restart)
    ask(1)
    bus.expect("D refused 1 recursion", "B question 1 q2 d1 5000ms shouldX")
    bus.answer(.approve, query: 1, delegate: 1, from: first)
    bus.expect("C question 1 q1 d2 5000ms shouldX")
    bus.restart(restart)
    ask(2)
    bus.expect("D refused 2 recursion", "E refused 2 recursion")
    bus.disconnect(second)
    #expect(bus.take().contains { $0.hasPrefix("A verdict 5 q1") })
    ask(3)
    bus.expect("B question 1 q3 d1 5000ms shouldX", "B question 1 q4 d1 5000ms shouldX")
  }

  @Test("Queries can be nested 32 deep")
  func depth() {
    let (bus, asker, _) = Self.chain()
    for index in 0...32 {
      bus.ask("shouldX", object: "\(index)", by: asker, serial: Serial(10 + index), parent: UInt64(index))
    }
    #expect(bus.queryCount == 33)
    _ = bus.take()
    bus.ask("shouldX", object: "last", by: asker, serial: 100, parent: 33)
    bus.expect("A refused 100 recursion")
    bus.ask("shouldX", object: "last", by: asker, serial: 100, parent: 32)
    bus.expect("B question 1 q34 d1 5000ms shouldXlast")
    #expect(bus.queryCount == 34)
  }

  private static func chain() -> (BusUnderTest, asker: ConnectionSlot, delegate: ConnectionSlot) {
    let bus = BusUnderTest()
    return (bus, bus.connect(), bus.connectDelegate("**"))
  }
}
