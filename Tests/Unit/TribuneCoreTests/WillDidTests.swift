// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Wills and dids", .timeLimit(.minutes(15)))
struct WillDidTests {
  private let bus = BusUnderTest()

  @Test(
    "A delegate receives wills and dids that it responds to, for its object, for any, or about all",
    arguments: [
      ("w.didClose", "o", "w.didClose", "o", true), ("w.willClose", "o", "w.willClose", "o", true),
      ("w.didClose", "o", "w.didClose", "p", false), ("w.didClose", "o", "w.didClose", "", true),
      ("w.didClose", "", "w.didClose", "p", true), ("w.didClose", "", "w.didClose", "", true),
      ("w.*", "o", "w.didClose", "o", true), ("**", "o", "w.v.didClose", "o", true),
      ("*.didClose", "o", "w.didClose", "o", true), ("w.*", "o", "v.didClose", "o", false),
      ("w.shouldClose", "o", "w.didClose", "o", false), ("didClose", "", "didClose", "", true),
      ("**", "o", "w.didFailToClose", "o", true), ("**", "o", "w.will-close", "o", true),
      ("**", "o", "w.will2", "o", true), ("**", "o", "w.did_it", "o", true),
    ] as [(String, String, String, String, Bool)])
  func received(pattern: String, of object: String, name: String, about: String, isReceived: Bool) throws {
    bus.attach([pattern], to: object, by: bus.connect(), serial: 1)
    if object == "o" { bus.observe(pattern, object: "o", by: bus.connect(), serial: 1) }
    let isObserved = object == "o" && about == "o" && isReceived
    #expect(try bus.receivers(name, object: about) == (isReceived ? isObserved ? "AB" : "A" : ""))
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

  @Test("A delegate is not an observation")
  func noObservation() throws {
    let slot = bus.connect()
    bus.attach(["w.didClose", "**", "w.didClose"], to: "o", by: slot, serial: 1)
    #expect(bus.observationCount == 0 && bus.counts(at: slot).observations == 0)
    #expect(bus.bus.observationEntries(of: 0, for: nil).isEmpty)
    bus.cancel(1, by: slot)
    #expect(try bus.receivers("w.didClose", object: "o") == "")
    #expect(bus.isEmpty)
  }
}
