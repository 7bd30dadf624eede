// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Awaited notifications", .timeLimit(.minutes(15)))
struct AwaitingTests {
  let bus = BusUnderTest()
  let (poster, one, two): (ConnectionSlot, ConnectionSlot, ConnectionSlot)

  init() {
    (poster, one, two) = (bus.connect(), bus.connect(), bus.connect())
    bus.observe("a.*", by: one, serial: 1, .awaited)
    bus.observe("a.willClose", by: two, serial: 1, .awaited)
    bus.observe("**", by: two, serial: 2)
    _ = bus.take()
  }

  private func post(_ serial: Serial = 7, deadline: UInt32 = 0) {
    bus.post("a.willClose", by: poster, serial: serial, .awaited, deadline: deadline)
  }

  @Test("The poster gets its answer when all observers are done")
  func done() {
    post()
    bus.expect("BC a.willClose from :1")
    bus.done(7, of: 1, by: one)
    #expect(bus.take() == [])
    bus.done(7, of: 1, by: two)
    bus.expect("A awaited 7 2")
    #expect(bus.nextDeadline == nil)
  }

  @Test("At the deadline the poster learns which observers are not done")
  func deadline() {
    post(deadline: 500)
    bus.advance(milliseconds: 20)
    bus.done(7, of: 1, by: two)
    _ = bus.take()
    bus.expectNothing(forMilliseconds: 480)
    bus.expect("A awaited 7 1, :2 timedOut 500 ms")
    bus.done(7, of: 1, by: one)
    bus.expect("B refused 904 notAsked")
  }

  @Test(
    "An observer that is never done delays only posts that it awaits, is charged to their poster, and is missing"
  )
  func neverDone() {
    let silent = bus.connect(uid: 5)
    let before = bus.userByteCounts[1000] ?? 0
    bus.observe("**", by: silent, serial: 1, .awaited)
    let own = bus.userByteCounts[5]
    _ = bus.take()
    post(deadline: 500)
    bus.post("a.x", by: two, serial: 9, .awaited, deadline: 500)
    for serial in [7, 9] as [Serial] { bus.done(serial, of: serial == 7 ? 1 : 3, by: one) }
    bus.done(7, of: 1, by: two)
    // 192 bytes for each post, and 128 for each observer that is not done.
    #expect(bus.userByteCounts[1000].map { $0 > before + 2 * (192 + 128) } == true)
    #expect(bus.userByteCounts[1000].map { $0 < before + 2 * (192 + 2 * 128) } == true)
    #expect(bus.userByteCounts[5] == own)
    // New posts do not wait for an observation that has ended; the earlier ones still do.
    bus.cancel(1, by: silent)
    _ = bus.take()
    bus.post("a.z", by: poster, serial: 8, .awaited)
    bus.done(8, of: 1, by: one)
    #expect(bus.take().last == "A awaited 8 1")
    bus.advance(milliseconds: 500)
    bus.expect("A awaited 7 2, :4 timedOut 500 ms", "C awaited 9 1, :4 timedOut 500 ms")
    #expect(bus.userByteCounts[1000] ?? 0 == before && bus.nextDeadline == nil)
  }

  @Test("A post without a deadline has the default deadline of the bus")
  func defaultDeadline() {
    post()
    #expect(bus.advanceToNextDeadline())
    #expect(bus.take().last == "A awaited 7 0, :2 timedOut 30000 ms, :3 timedOut 30000 ms")
  }

  @Test("The poster learns which observers failed or disconnected, and why")
  func failures() {
    post()
    bus.elapse(milliseconds: 5)
    bus.done(7, of: 1, by: two, failed: "2 files are open")
    bus.disconnect(one)
    #expect(bus.take().last == "A awaited 7 0, :2 gone 5 ms, :3 failed (2 files are open) 5 ms")
  }

  @Test("An observer that fails and then disconnects is listed once")
  func failedAndGone() {
    post()
    bus.done(7, of: 1, by: two, failed: "busy")
    bus.disconnect(two)
    _ = bus.take()
    bus.done(7, of: 1, by: one)
    bus.expect("A awaited 7 1, :3 failed (busy) 0 ms")
  }

  @Test("When an observer disconnects, its posts are settled from the oldest on")
  func oldestFirst() {
    let leaving = bus.connect()
    for serial in 1...8 { bus.post("a.x", by: leaving, serial: Serial(serial), .awaited) }
    bus.disconnect(leaving)
    for serial in 11...18 { bus.post("a.x", by: poster, serial: Serial(serial), .awaited) }
    _ = bus.take()
    bus.disconnect(one)
    #expect(bus.take().prefix(8) == (11...18).map { "A awaited \($0) 0, :2 gone 0 ms" }[...])
  }

  @Test("The bus waits only for awaited observers; without any, the answer comes at once")
  func nobody() {
    bus.post("b.willClose", by: poster, serial: 7, .awaited)
    bus.expect("C b.willClose from :1", "A awaited 7 0")
    post(8)
    bus.done(8, of: 1, by: poster)
    #expect(bus.take().last == "A refused 904 notAsked")
  }

  @Test("The bus waits for a connection if any of its matching observations is awaited", arguments: [0, 1])
  func anyOfSeveral(first: Int) {
    let observer = bus.connect()
    let options: [ObserveOptions] = [[], .awaited]
    bus.observe("b.*", by: observer, serial: 1, options[first])
    bus.observe("b.willClose", by: observer, serial: 2, options[1 - first])
    _ = bus.take()
    bus.post("b.willClose", by: poster, serial: 7, .awaited)
    bus.expect("CD b.willClose from :1")
    bus.done(7, of: 1, by: observer)
    bus.expect("A awaited 7 1")
  }

  @Test("Each observer is done once with each post")
  func once() {
    post(7)
    post(8)
    bus.done(7, of: 1, by: one)
    bus.done(7, of: 1, by: one)
    #expect(bus.take().last == "B refused 904 notAsked")
    bus.done(8, of: 1, by: one)
    bus.done(8, of: 1, by: two)
    bus.expect("A awaited 8 2")
    bus.done(7, of: 2, by: two)
    bus.expect("C refused 904 notAsked")
    bus.done(7, of: 1, by: two)
    bus.expect("A awaited 7 2")
  }

  @Test("The poster can cancel or disconnect; until then its serial is in use")
  func takenBack() {
    post()
    post()
    #expect(bus.take().last == "A refused 7 duplicateSerial")
    bus.cancel(7, by: poster)
    bus.expect("A refused 7 cancelled", "A ok 902")
    bus.done(7, of: 1, by: one)
    bus.expect("B refused 904 notAsked")
    post()
    bus.disconnect(poster)
    bus.done(7, of: 1, by: one)
    #expect(bus.take().last == "B refused 904 notAsked")
    #expect(bus.nextDeadline == nil)
  }

  @Test("A suspended connection gets an awaited post after its buffered ones, unless it drops them")
  func suspended() throws {
    bus.suspend(by: one)
    try bus.plain("a.b", "1")
    _ = bus.take()
    post()
    bus.expect("B held, a.b 1", "BC a.willClose from :1")
    bus.cancel(1, by: one)
    bus.observe("a.*", by: one, serial: 9, .awaited, suspension: .drop)
    _ = bus.take()
    post(8)
    bus.done(8, of: 1, by: two)
    bus.expect("C a.willClose from :1", "A awaited 8 1")
  }

  @Test("Awaited posts have a limit together with queries, and one for the observers that they wait for")
  func bounded() {
    let bus = BusUnderTest {
      $0.queriesMax = 2
      $0.awaitedMax = 3
    }
    let (poster, one, two) = (bus.connect(), bus.connect(), bus.connect())
    for slot in [one, two] { bus.observe("a", by: slot, serial: 1, .awaited) }
    _ = bus.take()
    bus.post("a", by: poster, serial: 1, .awaited)
    bus.post("a", by: poster, serial: 2, .awaited)
    bus.expect("BC a from :1", "A refused 2 limitExceeded")
    bus.attach(["a.shouldClose"], by: one, serial: 2)
    bus.ask("a.shouldClose", by: poster, serial: 3)
    _ = bus.take()
    bus.ask("a.shouldClose", by: poster, serial: 4)
    bus.expect("A refused 4 limitExceeded")
    bus.post("b", by: poster, serial: 5, .awaited)
    bus.expect("A refused 5 limitExceeded")
    for slot in [one, two] { bus.done(1, of: 1, by: slot) }
    _ = bus.take()
    bus.post("a", by: poster, serial: 6, .awaited)
    bus.expect("BC a from :1")
  }

  @Test("Reasons of failures have a limit for each poster, beyond which a failure has no reason")
  func reasons() {
    let bus = BusUnderTest { $0.answersMax = 10 }
    let (poster, one, two) = (bus.connect(), bus.connect(), bus.connect())
    for slot in [one, two] { bus.observe("a", by: slot, serial: 1, .awaited) }
    // Twice: the answer to the poster frees the bytes.
    for serial in 1...2 as ClosedRange<Serial> {
      bus.post("a", by: poster, serial: serial, .awaited)
      bus.done(serial, of: 1, by: one, failed: "12345678")
      bus.done(serial, of: 1, by: two, failed: "123")
      #expect(bus.take().last == "A awaited \(serial) 0, :2 failed (12345678) 0 ms, :3 failed 0 ms")
    }
  }

  @Test("A bus that stops does not report observers as gone")
  func stopping() {
    post()
    _ = bus.take()
    bus.stop()
    bus.disconnect(one)
    bus.disconnect(two)
    #expect(bus.take() == [])
    #expect(bus.nextDeadline == nil)
  }

  @Test("A deadline over the limit and serial 0 are refused")
  func invalid() {
    post(0)
    post(7, deadline: 3_600_001)
    bus.expect("A refused 0 invalidValue", "A refused 7 invalidValue")
  }
}
