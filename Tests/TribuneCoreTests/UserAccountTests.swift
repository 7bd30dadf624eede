// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

/// What has to be remembered over a restart is bounded for each user, so that nobody takes the room of the others.
@Suite("What is remembered for a user", .timeLimit(.minutes(1)))
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
    #expect(!ask(by: other, serial: 1, "x"))
    #expect(ask(by: other, serial: 2, ""))
    register(.observation, by: other, serial: 3)
    #expect(isRefused())
    bus.send(Cancel(target: 1), from: one, serial: 2)
    #expect(ask(by: other, serial: 4, "x"))
    register(.observation, by: other, serial: 5)
    #expect(!isRefused())
  }
}
