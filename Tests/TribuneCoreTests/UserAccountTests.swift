// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

/// What has to be remembered over a restart is bounded for each user, so that nobody takes the room of the others.
@Suite("What is remembered for a user", .timeLimit(.minutes(15)))
struct UserAccountTests {
  private let bus: BusUnderTest
  private let (one, other, stranger): (ConnectionSlot, ConnectionSlot, ConnectionSlot)

  init() {
    var limits = BusLimits()
    // For some ten registrations of any kind.
    limits.rememberedUserMax = 1_500
    bus = BusUnderTest(limits)
    one = bus.connect(uid: 1000)
    other = bus.connect(uid: 1000)
    stranger = bus.connect(uid: 1001)
  }

  enum Kind: CaseIterable { case observation, monitor, delegate, hold, declaration }

  private func register(_ kind: Kind, by slot: ConnectionSlot, serial: Serial) {
    // All as long.
    let number = 10_000 + serial
    switch kind {
    case .observation: bus.observe("a.n\(number)", by: slot, serial: serial)
    case .monitor: bus.send(Monitor(), from: slot, serial: serial, name: "a.n\(number)")
    case .delegate: bus.attach(["a.should\(number)"], by: slot, serial: serial)
    case .hold: bus.hold("a.n\(number)", for: serial == 1 ? 1000 : nil, by: slot, serial: serial)
    case .declaration:
      let text = "protocol P\(number) { optional did p.didN () }"
      bus.send(Declare(), from: slot, serial: serial, text: text)
    }
  }

  /// Registers until that is refused.
  ///
  /// - Returns: how many there are.
  private func fill(_ kind: Kind, by slot: ConnectionSlot) -> Serial {
    for serial in 1...100 as ClosedRange<Serial> {
      _ = bus.take()
      register(kind, by: slot, serial: serial)
      if isRefused() { return serial - 1 }
    }
    return 100
  }

  /// Whether what was sent last was refused for want of room.
  private func isRefused() -> Bool { bus.take().contains { $0.hasSuffix(" limitExceeded") } }

  @Test("is bounded over all its clients, and takes nothing from others", arguments: Kind.allCases)
  func bounded(_ kind: Kind) {
    let count = fill(kind, by: one)
    #expect(count > 5 && count < 20)
    register(kind, by: other, serial: 1000)
    #expect(isRefused())
    register(kind, by: stranger, serial: 2000)
    #expect(!isRefused())
  }

  @Test("counts what has to be remembered beside a declaration, until that is taken back")
  func beside() {
    register(.declaration, by: one, serial: 1)
    bus.bus.count(1_400, besides: 1, of: one)
    register(.declaration, by: other, serial: 2)
    #expect(isRefused())
    bus.send(Cancel(target: 1), from: one, serial: 3)
    register(.declaration, by: other, serial: 2)
    #expect(!isRefused())
  }

  @Test("has room again for what was taken back", arguments: Kind.allCases)
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

  @Test("has room again for what has gone with its connection", arguments: Kind.allCases)
  func gone(_ kind: Kind) {
    let count = fill(kind, by: one)
    bus.disconnect(one)
    #expect(fill(kind, by: other) == count)
    bus.disconnect(other)
    let next = bus.connect(uid: 1000)
    #expect(fill(kind, by: next) == count)
  }

  @Test("has room again for a hold that has expired, and a delegate that was replaced")
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
    bus.attach(["a.shouldOne"], by: stranger, serial: 1, isSet: true)
    _ = bus.take()
    register(.delegate, by: next, serial: 50)
    #expect(!isRefused())
  }

  @Test("has the userInfo of queries that ask one after the other, but for the only one")
  func questions() {
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
    // The only one left is one that is counted.
    bus.send(Cancel(target: 1), from: one, serial: 2)
    #expect(!ask(by: other, serial: 4, text))
    bus.send(Cancel(target: 1), from: other, serial: 5)
    #expect(ask(by: other, serial: 6, text))
  }

  /// Has the user ask until that is refused.
  ///
  /// - Returns: how many are under way.
  private func askAll(
    by slot: ConnectionSlot, from first: Serial = 1, mode: QueryMode = .all, because reason: String = ""
  ) -> Serial {
    for serial in first...first + 100 {
      _ = bus.take()
      bus.ask(
        "q.shouldB", by: slot, serial: serial, mode: mode, flags: reason.isEmpty ? [] : .overrides,
        because: reason)
      if isRefused() { return serial - first }
    }
    return 100
  }

  @Test("has what is asked, with those who take part, until it is decided")
  func asked() {
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
    // A label counts, and so does each delegate.
    bus.attach(["q.shouldB"], by: stranger, serial: 200, label: String(repeating: "l", count: 255))
    let fewer = askAll(by: other)
    #expect(fewer > 0 && fewer < count)
    bus.disconnect(other)
    #expect(askAll(by: one, from: 200) == fewer)
  }

  @Test("has what stands against a query that goes on all the same")
  func standing() {
    bus.attach(["q.shouldB"], by: stranger, serial: 1)
    let count = askAll(by: one)
    bus.disconnect(one)
    bus.hold("q.shouldB", why: String(repeating: "w", count: 400), by: stranger, serial: 2)
    #expect(askAll(by: other) < count)
    bus.disconnect(other)
    let last = bus.connect(uid: 1000)
    // That is over at once.
    #expect(askAll(by: last, mode: .parallel) == 100)
    let third = bus.connect(uid: 1002)
    bus.hold("q.shouldB", why: String(repeating: "w", count: 1200), by: third, serial: 3)
    #expect(askAll(by: last, from: 200) == 0)
  }

  @Test("has what an override gives as its reason")
  func override() {
    bus.attach(["q.shouldB"], by: stranger, serial: 1)
    let count = askAll(by: one, because: "x")
    bus.disconnect(one)
    #expect(askAll(by: other, because: String(repeating: "x", count: 400)) < count)
  }

  @Test("has what open queries were answered: past it, a veto loses its words, and a value is none")
  func answers() {
    for serial in 1...3 as ClosedRange<Serial> {
      bus.attach(["q.b"], by: stranger, serial: serial, label: "\(serial)")
    }
    let text = String(repeating: "x", count: 200)
    // Twice: what was decided gives its room back.
    for round in 0..<2 as Range<UInt64> {
      let (first, second) = (2 * round + 1, 2 * round + 2)
      bus.ask("q.b", by: one, serial: 5, mode: .collect)
      bus.ask("q.b", by: other, serial: 5, mode: .all)
      bus.answer(.value, text, query: first, delegate: 1, from: stranger)
      bus.answer(.veto, text, query: second, delegate: 1, from: stranger)
      bus.answer(.veto, query: second, delegate: 2, from: stranger)
      bus.answer(.veto, "short", query: second, delegate: 3, from: stranger)
      let verdict = bus.lastVerdict
      #expect(verdict?.outcomes.map(\.outcome) == [.vetoed, .vetoed, .vetoed])
      #expect(
        verdict?.outcomes.map(\.reason) == ["the answers for one asker have no more room", "", "short"])
      bus.answer(.value, String(repeating: "x", count: 700), query: first, delegate: 2, from: stranger)
      bus.answer(.value, text, query: first, delegate: 3, from: stranger)
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .failed, .answered])
    }
  }

  @Test("keeps nothing out for what others answer")
  func answersOfOthers() {
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["q.b"], by: stranger, serial: serial, label: "\(serial)")
    }
    bus.ask("q.b", by: one, serial: 5, mode: .collect)
    bus.answer(.value, String(repeating: "x", count: 5_000), query: 1, delegate: 1, from: stranger)
    _ = bus.take()
    for kind in Kind.allCases {
      register(kind, by: other, serial: 2)
      #expect(!isRefused(), "\(kind)")
      bus.cancel(2, by: other)
    }
    bus.ask("q.b", by: other, serial: 6, mode: .all)
    #expect(!isRefused())
  }

  @Test("has one answer, however long it is")
  func oneAnswer() {
    bus.attach(["q.b"], by: stranger, serial: 1)
    bus.ask("q.b", by: one, serial: 5, mode: .first)
    bus.answer(.value, String(repeating: "x", count: 5_000), delegate: 1, from: stranger)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered])
  }

  @Test("has awaited posts, with those who are waited for and what they say")
  func awaited() {
    let observers = (0..<3).map { _ in bus.connect(uid: 1001) }
    for observer in observers { bus.observe("a", by: observer, serial: 1, .awaited) }
    _ = bus.take()
    bus.post("a", by: one, serial: 1, .awaited)
    #expect(!isRefused())
    bus.post("a", by: other, serial: 1, .awaited)
    #expect(!isRefused())
    bus.post("a", by: other, serial: 2, .awaited)
    #expect(isRefused())
    bus.post("a", by: stranger, serial: 1, .awaited)
    #expect(!isRefused())
    let said = (bus.peers[one]?.id.rawValue ?? 0, String(repeating: "x", count: 200))
    for observer in observers { bus.done(1, of: said.0, by: observer, failed: said.1) }
    #expect(bus.take().joined().split(separator: said.1).count == 2)
    // All that is given back.
    bus.post("a", by: other, serial: 3, .awaited)
    #expect(!isRefused())
    bus.cancel(1, by: other)
    bus.disconnect(other)
    bus.post("a", by: one, serial: 4, .awaited)
    bus.post("a", by: one, serial: 5, .awaited)
    #expect(!isRefused())
  }

  @Test("counts the same after a restart", arguments: Restart.allCases)
  func restarted(_ restart: Restart) {
    let bus = BusUnderTest { $0.rememberedUserMax = 4_000 }
    bus.log = []
    let (asker, delegate) = (bus.connect(uid: 1000), bus.connect(uid: 1001))
    for serial in 1...3 as ClosedRange<Serial> {
      bus.attach(["q.b"], by: delegate, serial: serial, label: "\(serial)")
    }
    bus.observe("a", by: delegate, serial: 4, .awaited)
    bus.hold("q.b", by: delegate, serial: 5)
    bus.ask("q.b", by: asker, serial: 1, mode: .collect, text: "x")
    bus.ask("q.b", by: asker, serial: 2, mode: .all, text: "x")
    bus.ask("q.b", by: asker, serial: 3, mode: .first, text: String(repeating: "k", count: 5_000))
    bus.ask("q.b", by: asker, serial: 4, mode: .first, text: String(repeating: "k", count: 20))
    bus.answer(.value, String(repeating: "v", count: 300), query: 1, delegate: 1, from: delegate)
    bus.answer(.veto, "no", query: 2, delegate: 1, from: delegate)
    bus.post("a", by: asker, serial: 5, .awaited)
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
