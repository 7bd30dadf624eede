// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@Suite("Explanations of the policy", .timeLimit(.minutes(15)))
struct ExplainedAccessTests {
  private let bus = BusUnderTest()
  private let ann: ConnectionSlot
  private static let owner: UInt32 = 7

  init() { ann = bus.connect(uid: 1001) }

  private func apply(_ lines: [String]) {
    let rules = AccessRules.policy(Policy(text: lines), exempt: [Self.owner])
    bus.happen { $0.apply(rules, at: bus.now) }
  }

  @Test(
    "An explanation agrees with the decision",
    arguments: [
      [], ["allow * ** user:ann"], ["allow * a.** user:ann"], ["allow retain,override a.** user:ann"],
      ["allow post a.shouldB user:ann"],
      ["allow retain,post,ask a.* user:ann", "deny post a.shouldB user:*"],
      ["allow * ** user:ann", "deny post a.shouldB user:ann"],
      ["allow * ** user:ann", "deny ask ** user:ann"],
      ["allow post,retain,ask,override,hold,observe ** object:o user:ann"],
      ["allow monitor,declare ** object:o user:ann"],
      ["allow monitor,declare a.** user:ann"], ["allow monitor,declare,list ** user:ann"],
      ["allow * ** user:ann", "deny monitor,declare a.** user:*"], ["allow list,observe a.** user:ann"],
    ])
  func agreement(_ lines: [String]) throws {
    apply(lines)
    for slot in [ann, bus.connect(uid: Self.owner)] {
      let refused = try bus.refusedActions("a.shouldB", slot)
      for action in Action.names where action != "set" {
        let decision = try bus.explainAccess(action, action == "declare" ? "**" : "a.shouldB", for: slot)
          .decision
        let isAllowed = decision == .allowed || decision == .exempt
        #expect(isAllowed != refused.contains(action), "\(action)")
      }
    }
  }

  @Test(
    "An impossible request is refused",
    arguments: [
      ("monitor", "a.b", "o", .invalidValue), ("declare", "a.b", "", .invalidValue),
      ("declare", "a.**", "o", .invalidValue), ("post", "tribune.a", "", .reservedName),
      ("retain", "tribune.a", "o", .reservedName), ("ask", "tribune.x.shouldA", "", .reservedName),
      ("override", "tribune.a", "", .reservedName), ("post", "tribune.*", "", .reservedName),
      ("fly", "a", "", .invalidValue),
    ] as [(String, String, String, ErrorCode)])
  func senseless(_ action: String, _ name: String, _ object: String, _ code: ErrorCode) {
    apply(["allow * ** user:*"])
    for slot in [ann, bus.connect(uid: Self.owner)] {
      let refused = refusal { () throws(WireError) in
        _ = try bus.explainAccess(action, name, object: object, for: slot)
      }
      #expect(refused == code)
    }
  }

  @Test(
    "An explanation covers the bus's own names where frames can be about them",
    arguments: ["observe", "monitor", "delegate", "hold", "list"])
  func reserved(_ action: String) throws {
    apply(["allow \(action) tribune.** user:*"])
    #expect(try bus.explainAccess(action, "tribune.delegate.*", for: ann).decision == .allowed)
  }

  @Test("If an action needs a second permission, its denying line or its near misses are named")
  func needs() throws {
    apply(["allow retain a user:ann", "allow ask a user:*", "allow post a user:bob"])
    let retain = try bus.explainAccess("retain", "a", for: ann)
    #expect(retain.decision == .notAllowed)
    #expect(retain.lacks == ["does not allow post", "does not allow post", "needs user:bob"])
    apply(["allow * ** user:*", "deny ask a user:*"])
    let override = try bus.explainAccess("override", "a", for: ann)
    #expect(override.decision == .denied && override.line == "deny ask a user:*")
    apply(["allow * ** user:*", "deny override shouldX user:*"])
    #expect(try bus.explainAccess("override", "shouldX", for: ann).line == "deny override shouldX user:*")
    #expect(try bus.explainAccess("ask", "shouldX", for: ann).decision == .allowed)
  }

  @Test("A list of everything needs a line for all; for a pattern, a part suffices, as near misses show")
  func lists() throws {
    apply(["allow list a.* user:ann"])
    #expect(try bus.explainAccess("list", "*.b", for: ann).decision == .allowed)
    #expect(try bus.explainAccess("list", "**", object: "o", for: ann).decision == .allowed)
    let all = try bus.explainAccess("list", "**", for: ann)
    #expect(all.decision == .notAllowed && all.lacks == ["allows only part of **"])
    apply(["allow list a.* user:bob"])
    #expect(try bus.explainAccess("list", "*.b", for: ann).lacks == ["needs user:bob"])
  }
}
