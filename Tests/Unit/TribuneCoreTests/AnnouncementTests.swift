// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Announcements", .timeLimit(.minutes(15)))
struct AnnouncementTests {
  private let bus = BusUnderTest()

  @Test(
    "The bus announces delegates that join and leave a chain, but not a second equal one")
  func comingAndGoing() {
    let (observer, delegate) = (bus.connect(), bus.connect())
    bus.observe("tribune.delegate.*", object: "o", by: observer, serial: 1)
    _ = bus.take()
    bus.attach(["x", "y.*"], to: "o", by: delegate, serial: 1)
    bus.attach(["x", "y.*"], to: "o", by: delegate, serial: 2)
    bus.expect("B ok 1 as 1 d1", "didAttach d1 of :2 on o: x, y.*", "B refused 2 conflict")
    bus.cancel(1, by: delegate)
    bus.attach(["z"], to: "p", by: delegate, serial: 3)
    bus.disconnect(delegate)
    bus.expect(
      "didDetach d1 of :2 on o: x, y.*", "B ok 902", "B ok 3 as 3 d2", "didAttach d2 of :2 on p: z",
      "didDetach d2 of :2 on p: z", "didDisconnect :2 pid 0")
  }

  @Test("A replaced delegate leaves, and is gone in open queries, before the new one joins")
  func replacing() {
    let (observer, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.observe("tribune.**", by: observer, serial: 1)
    bus.attach(["shouldX"], to: "o", by: one, serial: 1)
    bus.ask("shouldX", object: "o", by: observer, serial: 2)
    _ = bus.take()
    bus.attach(["shouldX"], to: "o", by: other, serial: 1, isSet: true)
    bus.expect(
      "C ok 1 as 1 d2", "B ended 1 replaced by d2", "didDetach d1 of :2 on o: shouldX",
      "A verdict 2 q1 vetoed: d1 gone", "didConclude q1 shouldX on o: vetoed parallel by :1, 1 vetoes, 0ms",
      "didAttach d2 of :3 on o: shouldX")
  }

  @Test(
    "The bus announces only events that somebody can receive",
    arguments: [
      ("tribune.**", true), ("tribune.*.*", true), ("tribune.x", true), ("", false), ("**", false),
      ("*.delegate.didAttach", false), ("window.**", false), ("tribunes.**", false), ("tribune", false),
    ])
  func unobserved(pattern: String, isAnnounced: Bool) {
    let slot = bus.connect()
    bus.observe(pattern, by: slot, serial: 1)
    bus.attach(["x"], by: slot, serial: 2)
    #expect(bus.take().count == (isAnnounced ? 3 : 2))
    bus.cancel(1, by: slot)
    bus.attach(["y"], by: slot, serial: 3)
    bus.cancel(3, by: slot)
    bus.expect("A ok 902", "A ok 3 as 3 d2", "A ok 902")
  }

  @Test("Delegates and patterns that begin with a star receive no announcement, but a monitor sees all")
  func anything() throws {
    let slots = (0..<5).map { _ in bus.connect() }
    for (slot, pattern) in zip(slots, ["", "**", "*.delegate.*", "tribune.*.*"]) {
      bus.observe(pattern, object: "o", by: slot, serial: 1)
    }
    bus.attach(["**"], to: "o", by: slots[4], serial: 1)
    #expect(try bus.receivers("tribune.delegate.didAttach", object: "o") == "D")
    #expect(try bus.receivers("window.delegate.didAttach", object: "o") == "ABCE")
    #expect(try bus.receivers("tribune", object: "o") == "AB")
    bus.send(Monitor(), from: slots[0], serial: 2)
    #expect(bus.bus.monitors(of: "tribune.delegate.didAttach".utf8Bytes) == [slots[0]])
  }

  @Test("A disconnect is announced after everything that it ends, and with the reason if the bus caused it")
  func connections() {
    let observer = bus.connect()
    bus.observe("tribune.**", by: observer, serial: 1)
    _ = bus.take()
    let (one, other) = (bus.connect(pid: 7), bus.connect(pid: 8))
    bus.expect("didConnect :2 pid 7", "didConnect :3 pid 8")
    bus.attach(["shouldX"], to: "o", by: one, serial: 1)
    bus.hold("shouldX", object: "p", by: one, serial: 2)
    bus.ask("shouldX", object: "o", by: one, serial: 3)
    _ = bus.take()
    bus.elapse(milliseconds: 5)
    bus.disconnect(one, because: .tooSlow)
    bus.disconnect(other)
    bus.expect(
      "didDetach d1 of :2 on o: shouldX", "didRelease d2 of :2 on p: shouldX (busy)",
      "didConclude q1 shouldX on o: cancelled parallel by :2, 0 vetoes, 5ms",
      "didDisconnect :2 pid 7 tooSlow",
      "didDisconnect :3 pid 8")
    bus.disconnect(observer)
    #expect(bus.take() == [])
  }

  @Test(
    "The bus announces a hold's new reason, which later verdicts have, and changes nothing else of the hold")
  func amendedHold() {
    let (observer, holder) = (bus.connect(), bus.connect())
    bus.observe("tribune.hold.*", by: observer, serial: 1)
    bus.hold("shouldX", object: "o", by: holder, serial: 1)
    _ = bus.take()
    for (serial, why) in [(2, "at 40 %"), (3, "at 80 %")] as [(Serial, String)] {
      bus.amend(1, why: why, by: holder, serial: serial)
      bus.expect("B ok \(serial) as 1 d1", "didChange d1 of :2 on o: shouldX (\(why))")
    }
    bus.ask("shouldX", object: "o", by: observer, serial: 5)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 held (at 80 %)")
    #expect(bus.bus.holdCount == 1)
    bus.amend(1, why: "again", by: holder, serial: 3)
    bus.expect("B refused 3 duplicateSerial")
    bus.amend(1, why: " ", by: holder, serial: 4)
    bus.expect("B refused 4 invalidValue")
    bus.amend(2, why: "which?", by: holder, serial: 4)
    bus.expect("B refused 4 notFound")
    bus.amend(1, why: "not mine", by: observer, serial: 6)
    bus.expect("A refused 6 notFound")
    bus.cancel(1, by: holder)
    bus.expect("didRelease d1 of :2 on o: shouldX (at 80 %)", "B ok 902")
    bus.amend(1, why: "too late", by: holder, serial: 3)
    bus.expect("B refused 3 notFound")
  }

  @Test("The bus announces that a hold is taken, cancelled or expired")
  func holds() {
    let (observer, holder) = (bus.connect(), bus.connect())
    bus.observe("tribune.hold.*", by: observer, serial: 1)
    _ = bus.take()
    bus.hold("shouldX", object: "o", by: holder, serial: 1)
    bus.hold("y.*", why: "tired", for: 20, by: holder, serial: 2)
    bus.hold("shouldZ", by: holder, serial: 2)
    bus.expect(
      "B ok 1 as 1 d1", "didTake d1 of :2 on o: shouldX (busy)", "B ok 2 as 2 d2",
      "didTake d2 of :2 on : y.* (tired)", "B refused 2 duplicateSerial")
    bus.cancel(1, by: holder)
    bus.advance(milliseconds: 20)
    bus.expect(
      "didRelease d1 of :2 on o: shouldX (busy)", "B ok 902", "B ended 2 expired",
      "didRelease d2 of :2 on : y.* (tired) expired")
  }

  @Test(
    "The end of a query is announced after its verdict, except for dry runs",
    arguments: [
      (QueryMode.parallel, QueryFlags(), "vetoed parallel by :2, 1 vetoes, 10ms"),
      (.all, QueryFlags(), "vetoed all by :2, 2 vetoes, 10ms"),
      (.all, .overrides, "allowed all by :2, 2 vetoes, 10ms"), (.all, .isDryRun, nil),
    ] as [(QueryMode, QueryFlags, String?)])
  func queries(mode: QueryMode, flags: QueryFlags, ending: String?) {
    let (observer, asker, delegate) = (bus.connect(), bus.connect(), bus.connect())
    bus.observe("tribune.query.didConclude", object: "o", by: observer, serial: 1)
    bus.attach(["shouldX"], to: "o", by: delegate, serial: 1, label: "one")
    bus.attach(["shouldX"], to: "o", by: delegate, serial: 2, label: "other")
    bus.ask(
      "shouldX", object: "o", by: asker, serial: 1, mode: mode, flags: flags,
      because: flags.contains(.overrides) ? "because" : "")
    bus.elapse(milliseconds: 10)
    _ = bus.take()
    bus.answer(.veto, delegate: 1, from: delegate)
    bus.answer(.veto, delegate: 2, from: delegate)
    let news = bus.take().filter { !$0.contains("refused") }
    #expect(news.first?.hasPrefix("B verdict 1 q1") == true)
    #expect(
      news.filter { $0.contains("didConclude") }
        == (ending.map { ["didConclude q1 shouldX on o: \($0)"] } ?? []))
  }

  @Test("Value queries and cancelled queries are announced too")
  func otherQueries() {
    let (observer, asker, delegate) = (bus.connect(), bus.connect(), bus.connect())
    bus.observe("tribune.query.didConclude", by: observer, serial: 1)
    bus.attach(["x", "shouldX"], by: delegate, serial: 1)
    bus.ask("x", by: asker, serial: 1, mode: .first)
    bus.answer(.value, "1", delegate: 1, from: delegate)
    bus.ask("shouldX", by: asker, serial: 2)
    bus.cancel(2, by: asker)
    bus.ask("shouldY", by: asker, serial: 3, fallback: .vetoed)
    #expect(
      bus.take().filter { $0.contains("didConclude") } == [
        "didConclude q1 x on : allowed first by :2, 0 vetoes, 0ms",
        "didConclude q2 shouldX on : cancelled parallel by :2, 0 vetoes, 0ms",
        "didConclude q3 shouldY on : vetoed parallel by :2, 0 vetoes, 0ms",
      ])
  }

  @Test("The last announcement of a bus is its stop")
  func stopping() {
    let (observer, other) = (bus.connect(), bus.connect())
    bus.observe("tribune.**", by: observer, serial: 1)
    bus.attach(["shouldX"], by: other, serial: 1)
    bus.ask("shouldX", by: other, serial: 2)
    _ = bus.take()
    bus.stop()
    bus.disconnect(other, because: .shuttingDown)
    bus.expect("willStop", "B concluded 1 q1 d1 cancelled")
  }
}
