// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("What the bus itself posts", .timeLimit(.minutes(1)))
struct AnnouncementTests {
  @Test("Whoever joins a chain and whoever leaves it is announced, and the same thing twice is not")
  func comingAndGoing() {
    let bus = BusUnderTest()
    let (observer, delegate) = (bus.connect(), bus.connect())
    bus.observe("tribune.delegate.*", object: "o", by: observer, serial: 1)
    _ = bus.take()
    bus.attach(["x", "y.*"], to: "o", by: delegate, serial: 1)
    bus.attach(["x", "y.*"], to: "o", by: delegate, serial: 2)
    #expect(bus.take() == ["B ok 1 as 1 d1", "didAttach d1 of :2 on o: x, y.*", "B ok 2 as 1 d1"])
    bus.cancel(1, by: delegate)
    bus.attach(["z"], to: "p", by: delegate, serial: 3)
    bus.disconnect(delegate)
    #expect(
      bus.take() == [
        "didDetach d1 of :2 on o: x, y.*", "B ok 902", "B ok 3 as 3 d2", "didAttach d2 of :2 on p: z",
        "didDetach d2 of :2 on p: z",
      ])
  }

  @Test("Who is replaced leaves before the other joins, and an open question to it is gone")
  func replacing() {
    let bus = BusUnderTest()
    let (observer, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.observe("tribune.**", by: observer, serial: 1)
    bus.attach(["x"], to: "o", by: one, serial: 1)
    bus.ask("x", object: "o", by: observer, serial: 2)
    _ = bus.take()
    bus.attach(["x"], to: "o", by: other, serial: 1, isSet: true)
    #expect(
      bus.take() == [
        "C ok 1 as 1 d2", "B ended 1 replaced by d2", "didDetach d1 of :2 on o: x",
        "A verdict 2 q1 vetoed: d1 gone", "didAttach d2 of :3 on o: x",
      ])
  }

  @Test(
    "Nothing is announced where nobody can receive it",
    arguments: [
      ("tribune.**", true), ("tribune.*.*", true), ("tribune.x", true), ("", false), ("**", false),
      ("*.delegate.didAttach", false), ("window.**", false), ("tribunes.**", false), ("tribune", false),
    ])
  func unobserved(pattern: String, isAnnounced: Bool) {
    let bus = BusUnderTest()
    let slot = bus.connect()
    bus.observe(pattern, by: slot, serial: 1)
    bus.attach(["x"], by: slot, serial: 2)
    #expect(bus.take().count == (isAnnounced ? 3 : 2))
    bus.cancel(1, by: slot)
    bus.attach(["y"], by: slot, serial: 3)
    bus.cancel(3, by: slot)
    #expect(bus.take() == ["A ok 902", "A ok 3 as 3 d2", "A ok 902"])
  }

  @Test("A star at the beginning does not stand for the bus, but a monitor sees everything")
  func anything() throws {
    let bus = BusUnderTest()
    let slots = (0..<4).map { _ in bus.connect() }
    for (slot, pattern) in zip(slots, ["", "**", "*.delegate.*", "tribune.*.*"]) {
      bus.observe(pattern, object: "o", by: slot, serial: 1)
    }
    #expect(try bus.receivers("tribune.delegate.didAttach", object: "o") == "D")
    #expect(try bus.receivers("window.delegate.didAttach", object: "o") == "ABC")
    #expect(try bus.receivers("tribune", object: "o") == "AB")
    bus.send(Monitor(), from: slots[0], serial: 2)
    #expect(try bus.bus.monitors(of: "tribune.delegate.didAttach".utf8Bytes).map(\.slot) == [slots[0]])
  }

  @Test("Only observers receive it, no delegates that respond to everything")
  func delegatesDoNot() throws {
    let bus = BusUnderTest()
    let (observer, delegate) = (bus.connect(), bus.connect())
    bus.observe("tribune.**", by: observer, serial: 1)
    bus.attach(["**"], to: "o", by: delegate, serial: 1)
    #expect(try bus.receivers("tribune.delegate.didAttach", object: "o") == "A")
    #expect(try bus.receivers("window.didClose", object: "o") == "B")
  }
}
