// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Wills and dids", .timeLimit(.minutes(15)))
struct WillDidTests {
  private let bus = BusUnderTest()

  @Test(
    "A delegate receives those that it responds to, of its object or of any",
    arguments: [
      PatternCase("w.didClose", "o", "w.didClose", "o", true),
      PatternCase("w.willClose", "o", "w.willClose", "o", true),
      PatternCase("w.didClose", "o", "w.didClose", "p", false),
      PatternCase("w.didClose", "o", "w.didClose", "", false),
      PatternCase("w.didClose", "", "w.didClose", "p", true),
      PatternCase("w.didClose", "", "w.didClose", "", true),
      PatternCase("w.*", "o", "w.didClose", "o", true), PatternCase("**", "o", "w.v.didClose", "o", true),
      PatternCase("*.didClose", "o", "w.didClose", "o", true),
      PatternCase("w.*", "o", "v.didClose", "o", false),
      PatternCase("w.shouldClose", "o", "w.didClose", "o", false),
      PatternCase("didClose", "", "didClose", "", true),
      PatternCase("**", "o", "w.didFailToClose", "o", true),
      PatternCase("**", "o", "w.will-close", "o", true),
      PatternCase("**", "o", "w.will2", "o", true), PatternCase("**", "o", "w.did_it", "o", true),
    ])
  func received(_ example: PatternCase) throws {
    bus.attach([example.pattern], to: example.object, by: bus.connect(), serial: 1)
    #expect(
      try bus.receivers(example.name, object: example.about) == (example.meets ? "A" : ""))
  }

  @Test(
    "Nothing else that is posted goes to a delegate",
    arguments: [
      "w.closed", "w.shouldClose", "w.will", "w.did", "w.willing", "w.didactic", "w.Will", "willClose.x",
      "w.undidClose", "w.DidClose",
    ])
  func others(_ name: String) throws {
    bus.attach(["**"], by: bus.connect(), serial: 1)
    bus.attach([name], to: "o", by: bus.connect(), serial: 1)
    #expect(try bus.receivers(name, object: "o") == "")
    bus.observe(by: bus.connect(), serial: 1)
    #expect(try bus.receivers(name, object: "o") == "C")
  }

  @Test("One connection receives one copy, as observer and as however many delegates")
  func oneCopy() throws {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("w.*", by: one, serial: 1)
    bus.observe("w.didClose", object: "o", by: one, serial: 2)
    bus.attach(["w.didClose", "w.*", "**"], to: "o", by: one, serial: 3)
    bus.attach(["w.didClose"], by: one, serial: 4)
    bus.attach(["w.didClose"], to: "o", by: other, serial: 1)
    #expect(try bus.receivers("w.didClose", object: "o") == "AB")
    #expect(try bus.receivers("w.closed", object: "o") == "A")
    bus.cancel(1, by: one)
    bus.cancel(2, by: one)
    #expect(try bus.receivers("w.didClose", object: "o") == "AB")
    #expect(try bus.receivers("w.closed", object: "o") == "")
    bus.cancel(3, by: one)
    #expect(try bus.receivers("w.didClose", object: "o") == "AB")
    bus.cancel(4, by: one)
    #expect(try bus.receivers("w.didClose", object: "o") == "B")
  }

  @Test("A delegate that has left receives nothing, however it left")
  func left() throws {
    let (one, two, three, setter) = (bus.connect(), bus.connect(), bus.connect(), bus.connect())
    for slot in [one, two, three] { bus.attach(["w.didClose"], to: "o", by: slot, serial: 1) }
    #expect(try bus.receivers("w.didClose", object: "o") == "ABC")
    bus.cancel(1, by: one)
    #expect(try bus.receivers("w.didClose", object: "o") == "BC")
    bus.disconnect(two)
    #expect(try bus.receivers("w.didClose", object: "o") == "C")
    bus.attach(["w.*"], to: "o", by: setter, serial: 1, isSet: true)
    #expect(try bus.receivers("w.didClose", object: "o") == "D")
    #expect(bus.connect() == two)
    #expect(try bus.receivers("w.didClose", object: "o") == "D")
    bus.disconnect(setter)
    #expect(bus.isEmpty)
  }

  @Test("Delegates are no observations: they are neither counted nor listed as such")
  func noObservations() {
    let slot = bus.connect()
    bus.attach(["w.didClose", "**"], by: slot, serial: 1)
    #expect(bus.observationCount == 0 && bus.counts(at: slot).observations == 0)
    #expect(bus.bus.observationEntries(of: 0).isEmpty)
  }

  @Test("Attaching the same thing twice is one, and one takes it back")
  func twice() throws {
    let slot = bus.connect()
    bus.attach(["w.didClose"], to: "o", by: slot, serial: 1)
    bus.attach(["w.didClose", "w.didClose"], to: "o", by: slot, serial: 2)
    bus.cancel(1, by: slot)
    #expect(try bus.receivers("w.didClose", object: "o") == "")
    #expect(bus.isEmpty)
  }
}
