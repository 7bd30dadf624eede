// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Delegate chains", .timeLimit(.minutes(15)))
struct DelegateChainTests {
  private let bus = BusUnderTest()

  @Test("A chain is sorted by order, and then by the time of attaching")
  func order() throws {
    let slots = (0..<3).map { _ in bus.connect() }
    for (index, order) in ([0, 10, -5, 0, .min, .max, 10] as [Int32]).enumerated() {
      bus.attach(["x"], to: "o", by: slots[index % 3], serial: Serial(index + 1), order: order)
    }
    #expect(try bus.chain("x", object: "o").map(\.order) == [-5, 0, 10])
    for (index, order) in ([3, .min, .max, 0] as [Int32]).enumerated() {
      bus.attach(["x", "y\(index)"], to: "o", by: slots[0], serial: Serial(index + 50), order: order)
    }
    #expect(try bus.chain("x", object: "o").map(\.order) == [.min, -5, 0, 0, 3, 10, .max])
    #expect(try bus.chain("x", object: "o").map(\.delegate.id.rawValue) == [5, 3, 1, 7, 4, 2, 6])
  }

  @Test(
    "Only delegates that respond to the name are asked, and each once",
    arguments: [
      (["a.shouldB"], "a.shouldB", true), (["a.shouldB"], "a.shouldC", false),
      (["x", "y", "a.*"], "a.shouldB", true),
      (["x", "y"], "a.shouldB", false), (["**"], "a.shouldB", true), (["a.**"], "a", false),
      (["*.*", "a.*"], "a.shouldB", true),
      (["*.shouldB", "a.*"], "a.shouldB", true),
      (["a.shouldB", "a.*", "**", "a.shouldB"], "a.shouldB", true),
    ])
  func respondsTo(_ patterns: [String], _ name: String, _ responds: Bool) throws {
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(patterns, to: "o", by: delegate, serial: 1)
    #expect(try bus.chain(name, object: "o").count == (responds ? 1 : 0))
    _ = bus.take()
    let isQuestion = NameSyntax.canMatchQuestion(name)
    bus.ask(name, object: "o", by: asker, serial: 5, mode: isQuestion ? .parallel : .first)
    let expected =
      responds ? "B question 1 q1 d1 5000ms \(name)o" : "A verdict 5 q1 \(isQuestion ? "allowed" : "vetoed")?"
    #expect(bus.take() == [expected])
  }

  @Test("A query without an object is about all objects: their delegates are one chain")
  func everyObject() throws {
    let (asker, delegate) = (bus.connect(), bus.connect())
    for (serial, (object, order)) in [("o", 2), ("p", 1), ("", 3), ("q", 0)].enumerated() {
      bus.attach(
        [object == "q" ? "shouldY" : "shouldX"], to: object, by: delegate, serial: Serial(serial + 1),
        order: Int32(order)
      )
    }
    #expect(try bus.chain("shouldX", object: "").map(\.object) == ["p", "o", ""])
    #expect(try bus.chain("shouldX", object: "o").map(\.object) == ["o", ""])
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5, mode: .order)
    bus.expect("B question 2 q1 d2 5000ms shouldX")
    bus.attach(["shouldX", "**"], to: "r", by: delegate, serial: 9)
    #expect(try bus.chain("shouldX", object: "").map(\.object) == ["r", "p", "o", ""])
  }

  @Test("A second equal delegate of a connection is refused, whatever its policy, and leaves the first one")
  func duplicates() throws {
    let (one, other) = (bus.connect(), bus.connect())
    bus.attach(["a", "b"], to: "o", by: one, serial: 1, order: 1)
    bus.attach(["b", "a", "b"], to: "o", by: one, serial: 2, order: 7, policy: .abstain)
    bus.attach(["a", "b"], to: "p", by: one, serial: 3)
    bus.attach(["a"], to: "o", by: one, serial: 4)
    bus.attach(["a", "b"], by: one, serial: 5)
    bus.attach(["a", "b"], to: "o", by: other, serial: 1)
    bus.expect(
      "A ok 1 as 1 d1", "A refused 2 conflict", "A ok 3 as 3 d2", "A ok 4 as 4 d3", "A ok 5 as 5 d4",
      "B ok 1 as 1 d5")
    let chain = try bus.chain("b", object: "o")
    #expect(chain.map(\.delegate.id.rawValue) == [4, 5, 1])
    #expect(chain.map(\.order) == [0, 0, 1])
    #expect(chain.map(\.failurePolicy) == [.veto, .veto, .veto])
  }

  @Test("Delegates of one connection with different labels are different delegates")
  func labels() {
    let slot = bus.connect()
    bus.attach(["a"], by: slot, serial: 1, label: "one")
    bus.attach(["a"], by: slot, serial: 2, label: "other")
    bus.attach(["a"], by: slot, serial: 3, label: "other")
    bus.expect("A ok 1 as 1 d1", "A ok 2 as 2 d2", "A refused 3 conflict")
  }

  @Test("After a detachment, an equal delegate can attach")
  func duplicateSerials() {
    let slot = bus.connect()
    bus.attach(["a"], by: slot, serial: 1)
    bus.attach(["a"], by: slot, serial: 2)
    bus.cancel(2, by: slot)
    bus.cancel(1, by: slot)
    bus.expect("A ok 1 as 1 d1", "A refused 2 conflict", "A refused 902 notFound", "A ok 902")
    #expect(bus.isEmpty)
    bus.attach(["a"], by: slot, serial: 2)
    bus.expect("A ok 2 as 2 d2")
  }

  @Test(
    "An invalid attach is refused, and attaches nothing",
    arguments: [
      (Attach(patterns: []), "o", .invalidPattern), (Attach(patterns: ["a", "**.b"]), "o", .invalidPattern),
      (Attach(patterns: [""]), "o", .invalidPattern), (Attach(patterns: ["a"]), "o\n", .invalidObject),
      (Attach(patterns: ["a"]), "o/*", .invalidObject),
      (Attach(patterns: ["a", "host.reboot"]), "", .invalidPattern),
      (Attach(patterns: ["Host.**"]), "", .invalidPattern),
      (Attach(patterns: ["a", "unit.*"]), "nginx", .invalidObject),
      (Attach(label: String(repeating: "l", count: 256), patterns: ["a"]), "o", .limitExceeded),
      (Attach(patterns: Array(repeating: "a", count: 129)), "o", .limitExceeded),
    ] as [(Attach, String, ErrorCode)])
  func refused(_ fields: Attach, _ object: String, _ code: ErrorCode) {
    bus.send(fields, from: bus.connect(), serial: 1, object: object)
    bus.expect("A refused 1 \(code)")
    #expect(bus.isEmpty)
  }

  @Test("The delegates of a connection have a limit, and a cancelled one frees its place")
  func limit() {
    let bus = BusUnderTest { $0.delegatesMax = 2 }
    let slot = bus.connect()
    for (serial, name) in [(1, "a"), (2, "b"), (3, "c"), (4, "a")] {
      bus.attach([name], by: slot, serial: Serial(serial))
    }
    bus.cancel(1, by: slot)
    bus.attach(["c"], by: slot, serial: 3)
    bus.expect(
      "A ok 1 as 1 d1", "A ok 2 as 2 d2", "A refused 3 limitExceeded", "A refused 4 conflict", "A ok 902",
      "A ok 3 as 3 d3")
  }

  @Test("The patterns of a connection's delegates have a limit, and a cancelled delegate frees its own")
  func patternLimit() {
    let bus = BusUnderTest { $0.patternsMax = 4 }
    let slot = bus.connect()
    bus.attach(["a", "b", "a"], by: slot, serial: 1)
    bus.attach(["c", "d", "e"], by: slot, serial: 2)
    bus.attach(["c", "d"], by: slot, serial: 2)
    bus.attach(["e"], by: slot, serial: 3)
    bus.attach(["e"], by: bus.connect(), serial: 3)
    bus.cancel(1, by: slot)
    bus.attach(["e", "f"], by: slot, serial: 3)
    bus.expect(
      "A ok 1 as 1 d1", "A refused 2 limitExceeded", "A ok 2 as 2 d2", "A refused 3 limitExceeded",
      "B ok 3 as 3 d3", "A ok 902", "A ok 3 as 3 d4")
    bus.attach(["c", "e", "i", "j"], by: slot, serial: 4, isSet: true)
    bus.expect(
      "A ok 4 as 4 d5", "A ended 2 replaced by d5", "B ended 3 replaced by d5", "A ended 3 replaced by d5")
    bus.attach(["k"], to: "o", by: slot, serial: 5)
    bus.expect("A refused 5 limitExceeded")
  }

  @Test("The tokens of these patterns have a limit, and a cancelled delegate frees its own")
  func patternTokenLimit() {
    let bus = BusUnderTest { $0.patternTokensMax = 6 }
    let slot = bus.connect()
    bus.attach(["a.*.c", "d"], by: slot, serial: 1)
    bus.attach(["a.b.c"], by: slot, serial: 2)
    bus.attach(["a.b"], by: slot, serial: 2)
    bus.attach(["a.b"], by: bus.connect(), serial: 2)
    bus.cancel(1, by: slot)
    bus.attach(["a.b.c.**"], by: slot, serial: 1)
    bus.expect(
      "A ok 1 as 1 d1", "A refused 2 limitExceeded", "A ok 2 as 2 d2", "B ok 2 as 2 d3", "A ok 902",
      "A ok 1 as 1 d4")
    bus.attach(["a.b", "a.b.c.d"], by: slot, serial: 4, isSet: true)
    #expect(bus.take().first == "A ok 4 as 4 d5")
  }

  @Test("An explanation shows the delegates that would be asked, and asks nobody")
  func explaining() throws {
    let slot = bus.connect(pid: 42)
    bus.attach(
      ["a.*", "b"], to: "o", by: slot, serial: 1, order: 3, policy: .abstain, timeout: 700, label: "restore")
    _ = bus.take()
    let chain = try bus.chain("a.x", object: "o")
    let peer = PeerIdentity(
      pid: 42, uid: 1000, gid: 1000, process: "test", units: PeerUnits(system: "test.service"))
    #expect(
      chain == [
        DelegateEntry(
          connection: ConnectionID(rawValue: 1),
          delegate: DelegateIdentity(id: DelegateID(rawValue: 1), label: "restore", peer: peer), object: "o",
          order: 3, failurePolicy: .abstain, timeout: 700, patterns: ["a.*", "b"])
      ])
    #expect(bus.take().isEmpty)
    #expect(refusal { () throws(WireError) in _ = try bus.chain("a..x") } == .invalidName)
    #expect(refusal { () throws(WireError) in _ = try bus.chain("a", object: "\n") } == .invalidObject)
  }

  @Test("Delegates are listed in order of attachment, of one connection or of all")
  func entries() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.attach(["a"], by: other, serial: 9, order: 5)
    bus.attach(["b"], to: "o", by: one, serial: 8)
    bus.attach(["c"], by: other, serial: 3)
    #expect(bus.bus.delegateEntries(of: 0, for: nil).map(\.patterns) == [["a"], ["b"], ["c"]])
    #expect(bus.bus.delegateEntries(of: 2, for: nil).map(\.patterns) == [["a"], ["c"]])
    #expect(bus.bus.delegateEntries(of: 3, for: nil).isEmpty)
  }

  @Test("Objects are compared by bytes: canonically equivalent ones differ")
  func objectBytes() throws {
    let slot = bus.connect()
    bus.attach(["a"], to: "\u{FC}", by: slot, serial: 1)
    #expect(try bus.chain("a", object: "\u{FC}").count == 1)
    #expect(try bus.chain("a", object: "u\u{308}").isEmpty)
    bus.attach(["a"], to: "u\u{308}", by: slot, serial: 2)
    bus.expect("A ok 1 as 1 d1", "A ok 2 as 2 d2")
    bus.cancel(1, by: slot)
    #expect(try bus.chain("a", object: "u\u{308}").count == 1)
    bus.disconnect(slot)
    #expect(bus.isEmpty)
  }
}
