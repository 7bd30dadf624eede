// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("The account of a user", .timeLimit(.minutes(15)))
struct UserAccountTests {
  private let bus: BusUnderTest
  private let (one, other, stranger): (ConnectionSlot, ConnectionSlot, ConnectionSlot)

  init() {
    // Alone, a user may have 1,500 bytes: about ten registrations of any kind.
    bus = BusUnderTest { $0.totals[.log] = 3_200 }
    (one, other, stranger) = (bus.connect(uid: 1000), bus.connect(uid: 1000), bus.connect(uid: 1001))
  }

  private func makeSpaceForTwo() { bus.bus.limits.totals[.log] = 5_200 }

  enum Kind: CaseIterable { case observation, monitor, delegate, hold, declaration }

  private func register(_ kind: Kind, by slot: ConnectionSlot, serial: Serial) {
    // All numbers have the same length, and thus the same cost.
    let number = 10_000 + serial
    switch kind {
    case .observation: bus.observe("a.n\(number)", by: slot, serial: serial)
    case .monitor: bus.send(Monitor(), from: slot, serial: serial, name: "a.n\(number)")
    case .delegate: bus.attach(["a.should\(number)"], by: slot, serial: serial)
    case .hold: bus.hold("a.should\(number)", for: serial == 1 ? 1000 : nil, by: slot, serial: serial)
    case .declaration:
      let text = "protocol P\(number) { optional did p.didN () }"
      bus.send(Declare(), from: slot, serial: serial, text: text)
    }
  }

  private func fill(from first: Serial = 1, _ request: (Serial) -> Void) -> Serial {
    for serial in first..<first + 100 {
      _ = bus.take()
      request(serial)
      if isRefused() { return serial - first }
    }
    return 100
  }

  private func fill(_ kind: Kind, by slot: ConnectionSlot) -> Serial {
    fill { register(kind, by: slot, serial: $0) }
  }

  private func isRefused() -> Bool { bus.take().contains { $0.hasSuffix(" limitExceeded") } }

  private func expectRoom(for slot: ConnectionSlot) {
    for kind in Kind.allCases {
      register(kind, by: slot, serial: 2)
      #expect(!isRefused(), "\(kind)")
      bus.cancel(2, by: slot)
    }
  }

  @Test("has a limit over all connections of one user, but not over others", arguments: Kind.allCases)
  func bounded(_ kind: Kind) {
    let count = fill(kind, by: one)
    #expect(count > 5 && count < 20)
    register(kind, by: other, serial: 1000)
    #expect(isRefused())
    register(kind, by: stranger, serial: 2000)
    #expect(!isRefused())
  }

  static let resources: [(SharedResource, Kind)] = [
    (.log, .observation), (.registrations, .monitor), (.registrations, .delegate), (.registrations, .hold),
    (.registrations, .declaration), (.protocols, .declaration),
  ]

  @Test(
    "leaves something of each resource to everyone else, however much one user takes", arguments: resources)
  func shared(_ resource: SharedResource, _ kind: Kind) {
    let greedy = (0..<8).map { _ in bus.connect(uid: 1002) }
    bus.bus.limits.totals[.log] = 1 << 20
    bus.bus.limits.totals[resource] = resource == .log ? 6_000 : 40
    for (index, slot) in greedy.enumerated() {
      _ = fill(from: Serial(100 * index + 1)) { register(kind, by: slot, serial: $0) }
    }
    register(kind, by: greedy[7], serial: 5000)
    #expect(isRefused())
    register(kind, by: one, serial: 6000)
    #expect(!isRefused())
    let root = bus.connect(uid: 0)
    #expect(fill(from: 7000) { register(kind, by: root, serial: $0) } >= 40 / 16)
  }

  @Test("includes the context of a declaration until that is cancelled")
  func beside() {
    let methods = (0..<40).map { "optional did long.didChangeNumber\(10 + $0) ()" }
    bus.configure("protocol Long {\n\(methods.joined(separator: "\n"))\n}", [:])
    bus.declare("long", as: "Long", by: one, serial: 1)
    register(.declaration, by: other, serial: 2)
    #expect(isRefused())
    bus.send(Cancel(target: 1), from: one, serial: 3)
    register(.declaration, by: other, serial: 2)
    #expect(!isRefused())
  }

  @Test("frees cancelled items", arguments: Kind.allCases)
  func takenBack(_ kind: Kind) {
    let count = fill(kind, by: one)
    for _ in 0..<3 {
      bus.send(Cancel(target: count), from: one, serial: 50)
      register(kind, by: other, serial: 30)
      #expect(!isRefused())
      register(kind, by: other, serial: 31)
      #expect(isRefused())
      bus.send(Cancel(target: 30), from: other, serial: 51)
      register(kind, by: one, serial: count)
      #expect(!isRefused())
    }
  }

  @Test("frees items that end with their connection", arguments: Kind.allCases)
  func gone(_ kind: Kind) {
    let count = fill(kind, by: one)
    bus.disconnect(one)
    #expect(fill(kind, by: other) == count)
    bus.disconnect(other)
    let next = bus.connect(uid: 1000)
    #expect(fill(kind, by: next) == count)
  }

  @Test(
    "excludes the items of a detached connection, and nothing more once that ends",
    arguments: [SharedResource.log, .registrations])
  func detached(_ resource: SharedResource) {
    if resource == .registrations {
      bus.bus.limits.totals[.log] = 32_000
      bus.bus.limits.totals[.registrations] = 32
    }
    func countFilled() -> Serial {
      let count = fill(.observation, by: other)
      for serial in 0..<count { bus.cancel(serial + 1, by: other) }
      return count
    }
    let count = countFilled()
    for serial in 1...3 as ClosedRange<Serial> {
      bus.hold("**", for: 1000, by: one, serial: serial)
      register(.observation, by: one, serial: 3 + serial)
    }
    bus.bus.markDetached(one)
    #expect(countFilled() == count)
    bus.advance(milliseconds: 1000)
    #expect(countFilled() == count)
    bus.disconnect(one)
    #expect(countFilled() == count)
  }

  @Test("frees holds that expire, and delegates that are replaced")
  func ended() {
    _ = fill(.hold, by: one)
    bus.advance(milliseconds: 2000)
    _ = bus.take()
    register(.hold, by: other, serial: 2)
    #expect(!isRefused())
    bus.disconnect(one)
    bus.disconnect(other)

    let next = bus.connect(uid: 1000)
    _ = fill(.delegate, by: next)
    bus.attach(["**"], by: stranger, serial: 1, isSet: true)
    _ = bus.take()
    register(.delegate, by: next, serial: 50)
    #expect(!isRefused())
  }

  @Test("includes the userInfo of sequential queries, but accepts any single one")
  func questions() {
    makeSpaceForTwo()
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["q.should\(serial)", "q.shouldB"], by: stranger, serial: serial)
    }
    let text = String(repeating: "x", count: 2_000)
    func ask(by slot: ConnectionSlot, serial: Serial, _ text: String) -> Bool {
      _ = bus.take()
      bus.ask("q.shouldB", by: slot, serial: serial, mode: .order, text: text)
      return !isRefused()
    }
    #expect(ask(by: one, serial: 1, text))
    #expect(!ask(by: other, serial: 1, text))
    #expect(ask(by: other, serial: 1, "x"))
    #expect(ask(by: other, serial: 2, ""))
    bus.send(Cancel(target: 2), from: other, serial: 3)
    bus.send(Cancel(target: 1), from: one, serial: 2)
    #expect(!ask(by: other, serial: 4, text))
    bus.send(Cancel(target: 1), from: other, serial: 5)
    #expect(ask(by: other, serial: 6, text))
  }

  private func askAll(
    by slot: ConnectionSlot, from first: Serial = 1, mode: QueryMode = .all, because reason: String = ""
  ) -> Serial {
    let flags: QueryFlags = reason.isEmpty ? [] : .overrides
    return fill(from: first) {
      bus.ask("q.shouldB", by: slot, serial: $0, mode: mode, flags: flags, because: reason)
    }
  }

  @Test("includes queries, with their delegates, until the verdict")
  func asked() {
    makeSpaceForTwo()
    bus.attach(["q.shouldB"], by: stranger, serial: 1)
    let count = askAll(by: one)
    #expect(count > 1 && count < 10)
    #expect(askAll(by: other) == 0)
    register(.observation, by: other, serial: 90)
    register(.observation, by: other, serial: 91)
    #expect(isRefused())
    #expect(askAll(by: bus.connect(uid: 1002)) > 0)
    for query in 1...count { bus.answer(.approve, query: query, delegate: 1, from: stranger) }
    bus.send(Cancel(target: 90), from: other, serial: 92)
    bus.attach(["q.shouldB"], by: stranger, serial: 200, label: String(repeating: "l", count: 255))
    let fewer = askAll(by: other)
    #expect(fewer > 0 && fewer < count)
    bus.disconnect(other)
    #expect(askAll(by: one, from: 200) == fewer)
  }

  @Test("includes the holds against a query that goes on")
  func standing() {
    bus.attach(["q.shouldB"], by: stranger, serial: 1)
    let count = askAll(by: one)
    bus.disconnect(one)
    bus.hold("q.shouldB", why: String(repeating: "w", count: 400), by: stranger, serial: 2)
    #expect(askAll(by: other) < count)
    bus.disconnect(other)
    let last = bus.connect(uid: 1000)
    #expect(askAll(by: last, mode: .parallel) == 100)
    let third = bus.connect(uid: 1002)
    bus.hold("q.shouldB", why: String(repeating: "w", count: 1200), by: third, serial: 3)
    #expect(askAll(by: last, from: 200) == 0)
  }

  @Test("includes the reason of an override")
  func override() {
    bus.attach(["q.shouldB"], by: stranger, serial: 1)
    let count = askAll(by: one, because: "x")
    bus.disconnect(one)
    #expect(askAll(by: other, because: String(repeating: "x", count: 400)) < count)
  }

  @Test("includes answers to open queries: beyond the limit, a veto loses its reason, and a value fails")
  func answers() {
    makeSpaceForTwo()
    for serial in 1...3 as ClosedRange<Serial> {
      bus.attach(["q.b", "q.shouldB"], by: stranger, serial: serial, label: "\(serial)")
    }
    let text = String(repeating: "x", count: 200)
    // Twice: the verdict frees the bytes of the answers.
    for round in 0..<2 as Range<UInt64> {
      let (first, second) = (2 * round + 1, 2 * round + 2)
      bus.ask("q.b", by: one, serial: 5, mode: .collect)
      bus.ask("q.shouldB", by: other, serial: 5, mode: .all)
      bus.answer(.value, text, query: first, delegate: 1, from: stranger)
      bus.answer(.veto, text, query: second, delegate: 1, from: stranger)
      bus.answer(.veto, query: second, delegate: 2, from: stranger)
      bus.answer(.veto, "short", query: second, delegate: 3, from: stranger)
      let verdict = bus.lastVerdict
      #expect(verdict?.outcomes.map(\.outcome) == [.vetoed, .vetoed, .vetoed])
      #expect(
        verdict?.outcomes.map(\.reason) == ["the limit on the answers to one asker is reached", "", "short"])
      bus.answer(.value, String(repeating: "x", count: 700), query: first, delegate: 2, from: stranger)
      bus.answer(.value, text, query: first, delegate: 3, from: stranger)
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .failed, .answered])
    }
  }

  @Test("accepts registrations and queries even if the answers of others exceed it")
  func answersOfOthers() {
    makeSpaceForTwo()
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["q.b", "q.shouldB"], by: stranger, serial: serial, label: "\(serial)")
    }
    bus.ask("q.b", by: one, serial: 5, mode: .collect)
    bus.answer(.value, String(repeating: "x", count: 3_000), query: 1, delegate: 1, from: stranger)
    _ = bus.take()
    expectRoom(for: other)
    bus.ask("q.shouldB", by: other, serial: 6, mode: .all)
    #expect(!isRefused())
  }

  @Test("counts each pattern of a delegate as a registration, until it is gone")
  func patterns() {
    bus.bus.limits.totals[.log] = 32_000
    bus.bus.limits.totals[.registrations] = 16
    var count: Int { bus.bus.accounts.account(of: 1000).use(of: .registrations) }
    bus.attach(["a.b", "a.c", "a.d"], by: one, serial: 1)
    bus.attach(["b.b", "b.c"], by: other, serial: 1)
    #expect(count == 5)
    _ = bus.take()
    bus.attach(["c.b", "c.c", "c.d"], by: other, serial: 2)
    #expect(isRefused() && count == 5)
    bus.cancel(1, by: one)
    #expect(count == 2)
    bus.disconnect(other)
    #expect(count == 0)
  }

  @Test("leaves root's reserve to root, whatever answers and questions it has")
  func reserve() {
    bus.bus.limits.totals[.log] = 16_000
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["q.b", "q.shouldB"], by: stranger, serial: serial, label: "\(serial)")
    }
    bus.ask("q.shouldB", by: one, serial: 1, mode: .order, text: String(repeating: "x", count: 10_000))
    bus.ask("q.b", by: one, serial: 2, mode: .collect)
    bus.answer(.value, String(repeating: "x", count: 14_000), query: 2, delegate: 1, from: stranger)
    bus.ask("q.shouldB", by: stranger, serial: 3, mode: .order, text: String(repeating: "x", count: 10_000))
    #expect(isRefused())
    expectRoom(for: bus.connect(uid: 0))
  }

  @Test(
    "leaves enough to the next user, whatever answers and questions it has",
    arguments: [true, false])
  func nextUser(isAnswer: Bool) {
    bus.bus.limits.totals[.log] = 16_000
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["q.b", "q.shouldB"], by: stranger, serial: serial, label: "\(serial)")
    }
    for (serial, length) in [(1, 14_000), (2, 12_000)] as [(Serial, Int)] {
      let text = String(repeating: "x", count: length)
      bus.ask(
        isAnswer ? "q.b" : "q.shouldB", by: one, serial: serial, mode: isAnswer ? .collect : .order,
        text: isAnswer ? "" : text)
      if isAnswer { bus.answer(.value, text, query: serial, delegate: 1, from: stranger) }
    }
    _ = bus.take()
    for serial in 100...400 as ClosedRange<Serial> {
      bus.hold("own.should\(serial)", by: one, serial: serial)
    }
    _ = bus.take()
    for next in [bus.connect(uid: 1003), bus.connect(uid: 0)] { expectRoom(for: next) }
  }

  @Test("accepts a single answer that is longer than the share")
  func oneAnswer() {
    bus.bus.limits.totals[.log] = 6_400
    bus.attach(["q.b"], by: stranger, serial: 1)
    bus.ask("q.b", by: one, serial: 5, mode: .first)
    bus.answer(.value, String(repeating: "x", count: 4_500), delegate: 1, from: stranger)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered])
  }

  @Test("includes awaited posts, with their observers and the observers' reasons")
  func awaited() {
    makeSpaceForTwo()
    let observers = (0..<3).map { _ in bus.connect(uid: 1001) }
    for observer in observers { bus.observe("a", by: observer, serial: 1, .awaited) }
    _ = bus.take()
    func isRefused(_ serial: Serial, by poster: ConnectionSlot) -> Bool {
      bus.post("a", by: poster, serial: serial, .awaited)
      return self.isRefused()
    }
    #expect(!isRefused(1, by: one))
    #expect(!isRefused(1, by: other))
    #expect(isRefused(2, by: other))
    #expect(!isRefused(1, by: stranger))
    let (poster, reason) = (bus.peers[one]?.id.rawValue ?? 0, String(repeating: "x", count: 200))
    for observer in observers { bus.done(1, of: poster, by: observer, failed: reason) }
    #expect(bus.take().joined().split(separator: reason).count == 2)
    #expect(!isRefused(3, by: other))
    bus.cancel(1, by: other)
    bus.disconnect(other)
    #expect(!isRefused(4, by: one))
    #expect(!isRefused(5, by: one))
  }

  @Test("counts the same after a restart", arguments: Restart.allCases)
  func restarted(_ restart: Restart) {
    let bus = BusUnderTest { $0.totals[.log] = 14_000 }
    bus.log = []
    let (asker, delegate) = (bus.connect(uid: 1000), bus.connect(uid: 1001))
    for serial in 1...3 as ClosedRange<Serial> {
      bus.attach(["q.b", "q.shouldB"], by: delegate, serial: serial, label: "\(serial)")
    }
    let observer = bus.connect(uid: 1001)
    for slot in [delegate, observer] { bus.observe("a", by: slot, serial: 4, .awaited) }
    bus.hold("q.*", by: delegate, serial: 5)
    bus.ask("q.b", by: asker, serial: 1, mode: .collect, text: "x")
    bus.ask("q.shouldB", by: asker, serial: 2, mode: .all, text: "x")
    bus.ask("q.b", by: asker, serial: 3, mode: .first, text: String(repeating: "k", count: 5_000))
    bus.ask("q.b", by: asker, serial: 4, mode: .first, text: String(repeating: "k", count: 20))
    bus.answer(.value, String(repeating: "v", count: 300), query: 1, delegate: 1, from: delegate)
    bus.answer(.veto, "no", query: 2, delegate: 1, from: delegate)
    bus.post("a", by: asker, serial: 5, .awaited)
    bus.done(5, of: 1, by: observer)
    let counted = bus.userByteCounts
    #expect((counted[1000] ?? 0) > 300 + 4 * 192 + 13 * 128 && (counted[1001] ?? 0) > 0)
    _ = bus.take()
    bus.restart(restart)
    #expect(bus.userByteCounts == counted)
    for serial in 1...5 as ClosedRange<Serial> { bus.cancel(serial, by: asker) }
    #expect(bus.userByteCounts[1000] == 0)
    bus.disconnect(asker)
    #expect(bus.userByteCounts[1000] == nil)
  }
}
