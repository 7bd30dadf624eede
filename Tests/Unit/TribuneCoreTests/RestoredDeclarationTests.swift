// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneCore

@Suite("Declarations in a restored bus", .timeLimit(.minutes(15)))
struct RestoredDeclarationTests {
  enum Ending: CaseIterable {
    case cancelled
    case gone
    case replaced
  }

  let bus = BusUnderTest()
  let definer: ConnectionSlot
  let declarer: ConnectionSlot

  init() {
    bus.log = []
    (definer, declarer) = (bus.connect(), bus.connect())
  }

  private func end(_ ending: Ending) {
    if ending == .cancelled { bus.cancel(1, by: definer) } else { bus.disconnect(definer) }
    if ending == .replaced {
      bus.declare(
        defining: "protocol Scroll { optional did scroll.didRoll () }", by: bus.connect(), serial: 1)
    }
    _ = bus.take()
  }

  private func members(of objects: [String]) throws -> [String] {
    try objects.map { object in
      let methods = try bus.bus.memberEntries(of: object.utf8Bytes).map { "\($0.origin).\($0.name)" }
      return "\(object) \(methods)"
    }
      + bus.bus.objectEntries(of: 0).map {
        "\($0.object) \($0.protocolName) \($0.connection) \($0.delegates)"
      }
      + bus.bus.protocolEntries(of: 0).map { "\($0.name) \($0.connection) \($0.members)" }
  }

  @Test("keep protocols of departed definers", arguments: Restart.allCases, Ending.allCases)
  func definers(restart: Restart, ending: Ending) throws {
    bus.declare(defining: scrollView, by: definer, serial: 1)
    bus.declare("view/1", as: "Tap", by: declarer, serial: 1)
    bus.declare("view/2", as: "Own", defining: "protocol Own : Tap {}", by: declarer, serial: 2)
    bus.declare(defining: "protocol Other : Scroll {}", by: declarer, serial: 3)
    bus.attach(["scroll.didTap"], to: "view/2", by: declarer, serial: 4, conformingTo: ["Tap", "Own"])
    _ = bus.take()
    end(ending)
    let before = try members(of: ["view/1", "view/2", "Other"])
    for _ in 0..<2 {
      bus.restart(restart)
      #expect(try members(of: ["view/1", "view/2", "Other"]) == before)
    }
    #expect(try bus.post("scroll.didTap", object: "view/1") == nil)
    #expect(try bus.post("scroll.didRoll", object: "view/2") == .unknownName)
    bus.cancel(2, by: declarer)
    #expect(
      bus.bus.protocolEntries(of: 0).map(\.name) == (ending == .replaced ? ["Other", "Scroll"] : ["Other"]))
  }

  @Test("keep protocols of removed or changed files", arguments: [false, true])
  func files(areOthers: Bool) throws {
    bus.configure("protocol File { optional did p.didX () }\nprotocol Heir : File {}")
    bus.declare("view/1", as: "Heir", by: declarer, serial: 1)
    bus.declare("view/2", as: "Own", defining: "protocol Own : File {}", by: declarer, serial: 2)
    bus.expect("B ok 1 as 1", "B ok 2 as 2")
    let changed = "protocol File { optional did p.didY () }\nprotocol Own {}\nprotocol Heir {}"
    let now = areOthers ? changed : ""
    bus.configure(now)
    let before = try members(of: ["view/1", "view/2"])
    bus.restart(.snapshot, configuring: now)
    #expect(try members(of: ["view/1", "view/2"]) == before)
    for object in ["view/1", "view/2"] {
      #expect(try bus.post("p.didX", object: object) == nil)
      #expect(try bus.post("p.didY", object: object) == .unknownName)
    }
  }

  @Test("keep delegates that conform to a protocol without a definer", arguments: Restart.allCases)
  func delegates(restart: Restart) throws {
    bus.declare(defining: scrollView, by: definer, serial: 1)
    bus.declare("view/1", as: "Scroll", by: declarer, serial: 1)
    let delegate = bus.connect()
    bus.attach(
      ["scroll.shouldScrollToTop", "scroll.didTap"], to: "view/1", by: delegate, serial: 1,
      conformingTo: ["Tap"])
    bus.disconnect(definer)
    bus.expect("A ok 1 as 1", "B ok 1 as 1", "C ok 1 as 1 d1")
    bus.restart(restart)
    bus.ask("scroll.shouldScrollToTop", object: "view/1", by: declarer, serial: 2)
    #expect(bus.takeQuestions().map(\.question.delegate.rawValue) == [1])
  }

  @Test("also refuse unfitting values for queries that were under way", arguments: Restart.allCases)
  func values(restart: Restart) {
    bus.declare("view/1", as: "Tap", defining: scrollView, by: declarer, serial: 1)
    let delegate = bus.connect()
    bus.attach(["**"], to: "view/1", by: delegate, serial: 1, conformingTo: ["Tap"])
    bus.ask("scroll.zoomTarget", object: "view/1", by: declarer, serial: 2, mode: .first)
    _ = bus.take()
    bus.restart(restart)
    bus.answer(.value, "bad", delegate: 1, from: delegate)
    #expect(
      bus.lastVerdict?.summary
        == "vetoed?: d1 failed (the value does not fit: scroll.zoomTarget takes nothing bad)")
  }
}
