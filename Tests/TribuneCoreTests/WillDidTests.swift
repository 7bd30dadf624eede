// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Wills and dids", .timeLimit(.minutes(15)))
struct WillDidTests {
  private let bus = BusUnderTest()

  @Test(
    "A delegate receives those that it responds to, for its object or for any",
    arguments: [
      ("w.didClose", "o", "w.didClose", "o", true), ("w.willClose", "o", "w.willClose", "o", true),
      ("w.didClose", "o", "w.didClose", "p", false), ("w.didClose", "o", "w.didClose", "", false),
      ("w.didClose", "", "w.didClose", "p", true), ("w.didClose", "", "w.didClose", "", true),
      ("w.*", "o", "w.didClose", "o", true), ("**", "o", "w.v.didClose", "o", true),
      ("*.didClose", "o", "w.didClose", "o", true), ("w.*", "o", "v.didClose", "o", false),
      ("w.shouldClose", "o", "w.didClose", "o", false), ("didClose", "", "didClose", "", true),
      ("**", "o", "w.didFailToClose", "o", true), ("**", "o", "w.will-close", "o", true),
      ("**", "o", "w.will2", "o", true), ("**", "o", "w.did_it", "o", true),
    ] as [(String, String, String, String, Bool)])
  func received(pattern: String, of object: String, name: String, about: String, isReceived: Bool) throws {
    bus.attach([pattern], to: object, by: bus.connect(), serial: 1)
    #expect(try bus.receivers(name, object: about) == (isReceived ? "A" : ""))
  }

  @Test(
    "A delegate receives no other notifications",
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

  @Test("A connection receives one copy, even if it is observer and several delegates")
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

  @Test("A delegate that was cancelled, replaced or disconnected receives nothing")
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

  @Test("Delegates are neither counted nor listed as observations")
  func noObservations() {
    let slot = bus.connect()
    bus.attach(["w.didClose", "**"], by: slot, serial: 1)
    #expect(bus.observationCount == 0 && bus.counts(at: slot).observations == 0)
    #expect(bus.bus.observationEntries(of: 0).isEmpty)
  }

  @Test("A delegate that was attached twice can be cancelled once")
  func twice() throws {
    let slot = bus.connect()
    bus.attach(["w.didClose"], to: "o", by: slot, serial: 1)
    bus.attach(["w.didClose", "w.didClose"], to: "o", by: slot, serial: 2)
    bus.cancel(1, by: slot)
    #expect(try bus.receivers("w.didClose", object: "o") == "")
    #expect(bus.isEmpty)
  }
}
