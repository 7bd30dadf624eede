// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Suspension", .timeLimit(.minutes(15)))
struct SuspensionTests {
  let bus = BusUnderTest()
  let observer: ConnectionSlot

  init() { observer = bus.connect() }

  private func suspend(_ behavior: SuspensionBehavior) {
    bus.observe("a.**", by: observer, serial: 1, suspension: behavior)
    bus.suspend(by: observer)
    bus.expect("A ok 1 as 1", "A ok 903")
  }

  @Test("Questions, and notifications for delegates, are not suspended")
  func delegates() throws {
    let poster = bus.connect()
    bus.attach(["a.*"], by: observer, serial: 1)
    bus.observe("a.*", by: observer, serial: 2, suspension: .hold)
    bus.suspend(by: observer)
    _ = bus.take()
    try bus.plain("a.b", "1")
    try bus.plain("a.didClose", "2")
    bus.post("a.didClose", text: "3", by: poster, .immediately)
    bus.ask("a.shouldClose", by: poster, serial: 1)
    bus.expect(
      " a.b 1", "A a.didClose 2", "A a.didClose 3 from :2", "A question 1 q1 d1 5000ms a.shouldClose")
  }

  @Test(
    "Each suspension behavior handles notifications as documented",
    arguments: [
      (SuspensionBehavior.drop, [" a.b 1", " a.b 2", " a.c 3", " a.b 4", "A ok 903"]),
      (.coalesce, [" a.b 1", " a.b 2", " a.c 3", " a.b 4", "A held, a.c 3, a.b 4", "A ok 903"]),
      (.hold, [" a.b 1", " a.b 2", " a.c 3", " a.b 4", "A held, a.b 1, a.b 2, a.c 3, a.b 4", "A ok 903"]),
      (.deliverImmediately, ["A a.b 1", "A a.b 2", "A a.c 3", "A a.b 4", "A ok 903"]),
    ])
  func behaviors(_ behavior: SuspensionBehavior, _ transcript: [String]) throws {
    suspend(behavior)
    try bus.plain("a.b", "1")
    try bus.plain("a.b", "2")
    try bus.plain("a.c", "3")
    try bus.plain("a.b", "4")
    bus.suspend(false, by: observer)
    #expect(bus.take() == transcript)
    try bus.plain("a.b", "5")
    bus.expect("A a.b 5")
  }

  @Test("The buffer has a limit: the oldest are dropped and counted")
  func bounded() throws {
    let bus = BusUnderTest { $0.bufferMax = 10_000 }
    let observer = bus.connect()
    bus.observe(by: observer, serial: 1, suspension: .hold)
    bus.suspend(by: observer)
    for number in 0..<1000 { try bus.plain("a", "\(number)", "again") }
    _ = bus.take()
    #expect((bus.bus.bufferedByteCount(at: observer) ?? 0) <= 10_000)
    bus.suspend(false, by: observer)
    let line = try #require(bus.take().first)
    let held = line.split(separator: ",").dropFirst().flatMap { $0.split(separator: "+") }.count
    #expect(line.hasPrefix("A held lost \(2000 - held),"))
    #expect(held > 20 && line.hasSuffix("a 999 + a again"))
    #expect(bus.bus.bufferedByteCount(at: observer) == nil)
  }

  @Test("The buffers of a user have a share of the memory; past it, each has an even part")
  func boundedTogether() throws {
    let bus = BusUnderTest {
      $0.bufferMax = 10_000
      $0.totals[.queues] = 42_700
    }
    let observers = (0..<10).map { _ in bus.connect() }
    for observer in observers {
      bus.observe(by: observer, serial: 1, suspension: .hold)
      bus.suspend(by: observer)
    }
    func held() -> [Int] { observers.map { bus.bus.bufferedByteCount(at: $0) ?? 0 } }
    for number in 0..<100 {
      try bus.plain("a", "\(number)")
      #expect(held().reduce(0, +) <= 20_000 + 10 * 300)
    }
    #expect(held().allSatisfy { $0 > 700 })
    _ = bus.take()
    bus.suspend(false, by: observers[0])
    let line = try #require(bus.take().first)
    #expect(line.hasPrefix("A held lost \(100 - line.split(separator: ",").count + 1),"))
    for observer in observers.dropFirst() { bus.disconnect(observer) }
    bus.suspend(by: observers[0])
    for number in 0..<100 { try bus.plain("a", "\(number)") }
    #expect(held0() > 9000, "the disconnected ones are no longer charged")
    func held0() -> Int { bus.bus.bufferedByteCount(at: observers[0]) ?? 0 }
  }

  @Test("A bus that stops delivers buffered notifications before it announces the stop")
  func stopping() throws {
    suspend(.hold)
    bus.observe("tribune.**", by: observer, serial: 2, suspension: .hold)
    try bus.plain("a.b", "1")
    _ = bus.take()
    bus.stop()
    bus.expect("A held, a.b 1", "willStop")
    #expect(bus.bus.bufferedByteCount(at: observer) == nil)
  }
}
