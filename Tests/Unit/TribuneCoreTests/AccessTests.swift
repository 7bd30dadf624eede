// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("The policy in force", .timeLimit(.minutes(15)))
struct AccessTests {
  private let bus = BusUnderTest()

  private static let ann: UInt32 = 1001
  private static let owner: UInt32 = 7

  private func apply(_ lines: String...) { apply(lines) }

  private func apply(_ lines: [String]) {
    let rules = AccessRules.policy(Policy(text: lines), exempt: [Self.owner])
    bus.happen { $0.apply(rules, at: bus.now) }
  }

  private static let everything: Set = [
    "post", "plain post", "retain", "observe", "ask", "delegate", "hold", "override", "declare", "monitor",
    "list", "claim",
  ]

  @Test("Without any line, everything is refused except to exempt users")
  func noLine() throws {
    apply([])
    #expect(try bus.refusedActions("a.shouldB", bus.connect(uid: Self.ann)) == Self.everything)
    #expect(try bus.refusedActions("a.shouldB", bus.connect(uid: Self.owner)).isEmpty)
    #expect(try bus.refusedActions("a.shouldB", bus.connect(uid: 0)) == Self.everything)
  }

  @Test(
    "Each action needs its own line, and a line that denies it wins",
    arguments: [
      ("post", ["post", "plain post"]), ("retain", []), ("post,retain", ["post", "plain post", "retain"]),
      ("observe", ["observe"]), ("ask", ["ask"]), ("delegate", ["delegate"]), ("set", []), ("hold", ["hold"]),
      ("override", []), ("ask,override", ["ask", "override"]), ("declare", ["declare"]),
      ("monitor", ["monitor"]), ("list", ["list"]), ("ask,claim", ["ask"]),
      ("post,ask,claim", ["post", "plain post", "ask", "claim"]),
    ] as [(String, [String])])
  func eachAction(_ action: String, _ allowed: [String]) throws {
    apply("allow \(action) ** user:ann")
    #expect(
      try bus.refusedActions("a.shouldB", bus.connect(uid: Self.ann)) == Self.everything.subtracting(allowed))
    #expect(try bus.refusedActions("a.shouldB", bus.connect(uid: 1002)) == Self.everything)
    apply("allow * ** user:ann", "deny \(action) a.* user:*")
    let denied = try bus.refusedActions("a.shouldB", bus.connect(uid: Self.ann))
    var expected = Set(action.split(separator: ",").map(String.init)).subtracting(["set"])
    // `retain` needs `post`, `override` needs `ask`, and `claim` both. A declaration is about all names.
    if expected.contains("post") { expected.formUnion(["plain post", "retain", "claim"]) }
    if expected.contains("ask") { expected.formUnion(["override", "claim"]) }
    #expect(denied == expected)
    #expect(try bus.refusedActions("b.shouldB", bus.connect(uid: Self.ann)).subtracting(["declare"]).isEmpty)
  }

  @Test("A low order does not help a delegate that the policy refuses")
  func firstOfTheChain() {
    apply("allow delegate a.mine user:ann")
    let (owner, ann) = (bus.connect(uid: Self.owner), bus.connect(uid: Self.ann))
    for (serial, name) in ["a.mine", "a.theirs"].enumerated() {
      bus.attach([name], by: owner, serial: Serial(serial + 1), order: -5)
    }
    bus.expect("A ok 1 as 1 d1", "A ok 2 as 2 d2")
    for (serial, patterns) in [["a.mine"], ["a.theirs"], ["a.mine", "a.theirs"], ["a.*"], ["**"]].enumerated()
    {
      bus.attach(patterns, by: ann, serial: Serial(serial + 1), order: .min)
    }
    #expect(bus.take() == ["B ok 1 as 1 d3"] + (2...5).map { "B refused \($0) notPermitted" })
    bus.ask("a.mine", by: owner, serial: 5, mode: .first)
    bus.ask("a.theirs", by: owner, serial: 6, mode: .first)
    bus.expect("B question 1 q1 d3 5000ms a.mine", "A question 2 q2 d2 5000ms a.theirs")
  }

  @Test("A refusal names user, action, name, object and line, or the lack of one")
  func message() throws {
    apply("allow * b.** user:*", "deny post b.x object:o unit:bad.service")
    let slot = bus.connect(uid: Self.ann, units: PeerUnits(system: "bad.service"))
    var messages: [String] = []
    bus.onEffect = { if case .refusal(_, _, let error) = $0 { messages.append(error.message) } }
    bus.hold("a.*", object: "o", by: slot, serial: 1)
    bus.post("b.x", object: "o", by: slot, serial: 2, .immediately)
    bus.ask("shouldA", object: "o", by: slot, serial: 3)
    #expect(
      messages == [
        "user 1001 in bad.service may not hold a.* for \"o\": no line of the policy allows it",
        "user 1001 in bad.service may not post b.x for \"o\": denied by test.policy:2",
        "user 1001 in bad.service may not ask shouldA for \"o\": no line of the policy allows it",
      ])
  }

  @Test("A decision is cached for its subject only")
  func remembered() throws {
    apply("allow post a user:ann", "allow post a unit:one.service", "allow post a group:5")
    let slots = [
      bus.connect(uid: Self.ann), bus.connect(uid: 1),
      bus.connect(uid: 1, units: PeerUnits(system: "one.service")),
      bus.connect(uid: 2, gid: 5), bus.connect(uid: 2, gid: 6),
      bus.connect(uid: 1, units: PeerUnits(system: "", user: "one.service")), bus.connect(uid: Self.owner),
    ]
    let key = ByteBuffer(holding: Array("a".utf8))
    for _ in 0..<3 {
      let isAllowed = slots.map { slot in
        do throws(WireError) {
          _ = try bus.bus.receivers(of: key.bytes, nameLength: 1, from: slot)
          return true
        } catch {
          return false
        }
      }
      #expect(isAllowed == [true, false, true, true, false, false, true])
    }
  }

  @Test("A subject and a name are decided once; later decisions come from the route's cache")
  func once() throws {
    apply("allow post,ask shouldA user:ann")
    let slots = [bus.connect(uid: Self.ann), bus.connect(uid: 1002)]
    let ids = slots.map { bus.bus.access.id(at: $0) }
    func mayPost(_ slot: ConnectionSlot) -> Bool {
      refusal { () throws(WireError) in
        _ = try bus.bus.receivers(of: "shouldA".utf8Bytes, nameLength: 7, from: slot)
      } == nil
    }
    func mayAsk(_ slot: ConnectionSlot) -> Bool {
      bus.ask("shouldA", by: slot, serial: 5)
      return bus.take() != ["\(slot.letter) refused 5 notPermitted"]
    }
    #expect(slots.map(mayPost) == [true, false] && slots.map(mayAsk) == [true, false])
    func route(in bus: inout Bus) throws(WireError) -> Int {
      try bus.center.route(of: "shouldA".utf8Bytes, nameLength: 7, bus.access).index
    }
    let route = try route(in: &bus.bus)
    let chain = try bus.bus.chains.responding(to: "shouldA".utf8Bytes, nameLength: 7).chain
    let allowed: ActionSet = [ActionSet(.post), ActionSet(.ask)]
    #expect(ids.map { bus.bus.center.actions(atRoute: route, for: $0) } == [allowed, []])
    #expect(ids.map { bus.bus.chains.actions(at: chain, for: $0) } == [allowed, []])
    bus.bus.center.remember(ActionSet(.post), atRoute: route, for: ids[1])
    #expect(slots.map(mayPost) == [true, true] && slots.map(mayAsk) == [true, false])
    bus.bus.chains.remember(ActionSet(.ask), at: chain, for: ids[1])
    #expect(slots.map(mayAsk) == [true, true])
    // Connections of one subject share the decision until the route is rebuilt.
    #expect(mayPost(bus.connect(uid: 1002)))
    bus.bus.center.invalidateRoutes()
    #expect(slots.map(mayPost) == [true, false])
  }

  @Test("A decision does not outlast its policy, nor a slot its connection")
  func reused() throws {
    apply("allow post a user:ann")
    let slot = bus.connect(uid: Self.ann)
    #expect(try !bus.refusedActions("a", slot).contains("plain post"))
    apply("allow post b user:ann")
    #expect(try bus.refusedActions("a", slot).contains("plain post"))
    apply("allow post a user:ann")
    #expect(try !bus.refusedActions("a", slot).contains("plain post"))
    bus.disconnect(slot)
    let other = bus.connect(uid: 1002)
    #expect(other == slot)
    #expect(try bus.refusedActions("a", other).contains("plain post"))
  }

  @Test("After a reload names a group of uncertain membership, its line allows nothing, but denies")
  func unknownGroups() throws {
    apply("allow * ** group:5", "deny hold ** group:6")
    #expect(bus.bus.groupsInPolicy == [5, 6])
    func connect(_ supplementary: [UInt32]) -> ConnectionSlot {
      let groups = Groups(primary: 1, supplementary: supplementary, named: bus.bus.groupsInPolicy)
      return bus.connect(uid: Self.ann, groups: groups)
    }
    let (many, few) = (connect(Array(10..<1000) + [5, 7]), connect([5, 7]))
    for slot in [many, few] { bus.hold("a.*", by: slot, serial: 1) }
    bus.expect("A ok 1 as 1 d1", "B ok 1 as 1 d2")
    apply("allow * ** group:5", "deny hold ** group:8")
    bus.expect(
      "A ended 1 (user 1001, in more than 128 groups, in test.service may not hold a.*: denied by test.policy:2)"
    )
    bus.hold("a.*", by: connect(Array(10..<1000) + [5, 7]), serial: 1)
    bus.expect("C ok 1 as 1 d3")
    apply("allow hold ** group:5", "allow observe ** group:9")
    bus.hold("a.*", by: many, serial: 2)
    for slot in [many, few] { bus.observe("a", by: slot, serial: 3) }
    bus.expect("A ok 2 as 2 d4", "A refused 3 notPermitted", "B refused 3 notPermitted")
    apply("allow observe ** group:7")
    _ = bus.take()
    for slot in [many, few] { bus.observe("a", by: slot, serial: 4) }
    bus.expect("A refused 4 notPermitted", "B ok 4 as 4")
  }

  @Test(
    "The shortest max= applies of all lines that allow a process a part of the hold",
    arguments: [
      ("a.shouldB", "", ann, 4000), ("a.*", "", ann, 4000), ("**", "o", ann, 2000),
      ("b.shouldC", "", ann, nil),
      ("c.*", "", ann, 9000), ("c.*", "o", ann, 9000), ("c.*", "p", ann, nil), ("a.*", "", 1002, nil),
      ("a.*", "", owner, nil), ("d1001.*", "", ann, 2000), ("d1002.*", "", ann, nil),
    ] as [(String, String, UInt32, UInt32?)])
  func holdMax(pattern: String, object: String, user: UInt32, allowed: UInt32?) {
    apply(
      "allow * ** user:*", "allow hold a.shouldB max=4s user:ann", "allow hold a.* max=8s user:ann",
      "allow hold c.* object:o max=9s user:ann",
      "allow hold d%U.* max=2s user:*")
    let holder = bus.connect(uid: user)
    bus.onEffect = { [bus] effect in
      guard case .okay(_, _, let okay) = effect else { return }
      #expect(okay.expiry == allowed.map { bus.now.advanced(byMilliseconds: $0).nanoseconds } ?? 0)
    }
    bus.hold(pattern, object: object, by: holder, serial: 1)
    bus.expect("A ok 1 as 1 d1")
  }

  @Test("An observer or delegate does not receive notifications that a line denies")
  func filtered() throws {
    apply(
      "allow * ** user:*", "deny observe *.didSecret user:ann", "deny observe a.didOpen object:o user:ann")
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: 1002))
    for slot in [ann, other] {
      bus.observe("**", by: slot, serial: 1)
      bus.attach(["**"], by: slot, serial: 2)
    }
    #expect(try bus.receivers("a.didClose") == "AB")
    #expect(try bus.receivers("a.didSecret") == "B")
    #expect(try bus.receivers("a.didOpen") == "AB")
    #expect(try bus.receivers("a.didOpen", object: "o") == "B")
    apply("allow * ** user:*")
    #expect(try bus.receivers("a.didSecret") == "AB")
  }

  @Test("A snapshot omits retained notifications that a line denies to observe")
  func snapshot() {
    apply("allow * ** user:*", "deny observe a.secret user:ann")
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: 1002))
    bus.post("a.secret", text: "{}", by: other, .retain)
    bus.post("a.open", text: "{}", by: other, .retain)
    _ = bus.take()
    bus.observe("a.*", by: ann, serial: 1, .retained)
    bus.expect("A ok 1 as 1", "A snapshot 1, a.open {} from :2 at 1000 ms")
  }

  @Test("A set replaces the user's own delegates, and those of others that the policy allows")
  func setting() throws {
    apply("allow delegate ** user:*", "allow set a.** user:ann", "deny set a.x user:*")
    let (ann, own, other) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.ann), bus.connect(uid: 1002))
    bus.attach(["z"], by: own, serial: 1)
    bus.attach(["a.b"], by: other, serial: 1)
    bus.attach(["a.b", "z"], by: other, serial: 2)
    bus.attach(["a.*"], by: other, serial: 3)
    bus.attach(["a.b"], to: "o", by: other, serial: 4)
    _ = bus.take()
    bus.attach(["**"], by: ann, serial: 1, isSet: true)
    bus.expect("A ok 1 as 1 d6", "B ended 1 replaced by d6", "C ended 1 replaced by d6")
  }

  @Test("Lists have a user's own items, and those that the user may list")
  func lists() throws {
    apply("allow * ** user:*", "deny list ** user:ann")
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: 1002))
    for (slot, text) in [(ann, "{}"), (other, "[]")] {
      bus.observe("a", by: slot, serial: 1)
      bus.attach(["a"], by: slot, serial: 2)
      bus.hold("a.*", by: slot, serial: 3)
      bus.post("a.\(slot.letter)", text: text, by: slot, .retain)
    }
    func listed(for slot: ConnectionSlot) -> [[UInt64]] {
      [
        bus.bus.observationEntries(of: 0, for: slot).map(\.connection.rawValue),
        bus.bus.delegateEntries(of: 0, for: slot).map(\.connection.rawValue),
        bus.bus.holdEntries(of: 0, for: slot, at: bus.now).map(\.connection.rawValue),
        bus.bus.retainedEntries(of: 0, for: slot, at: bus.now).map(\.connection.rawValue),
        [Self.ann, 1002].filter { bus.bus.visibleUsers(for: slot).contains($0) }.map(UInt64.init),
      ]
    }
    #expect(listed(for: ann) == [[1], [1], [1], [1], [1001]])
    #expect(listed(for: other) == [[1, 2], [1, 2], [1, 2], [1, 2], [1001, 1002]])
    apply("allow * ** user:*", "deny list ** user:ann", "allow list x user:*")
    #expect(listed(for: ann)[4] == [1001])
  }

  @Test("A line with an object lists only the other users' messages about objects that it names")
  func messagesWithObjects() {
    apply("allow list shouldA object:mine/* user:ann")
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.owner))
    bus.attach(["shouldA"], by: other, serial: 1)
    for (serial, object) in zip(Serial(2)..., ["", "mine/x", "yours/x"]) {
      bus.post("shouldA", object: object, text: "{}", by: other, .retain)
      bus.ask("shouldA", object: object, by: other, serial: serial)
    }
    for (slot, count) in [(other, 3), (ann, 1)] {
      let retained = bus.bus.retainedEntries(of: 0, for: slot, at: bus.now)
      let queries = bus.bus.queryEntries(of: ConnectionID(rawValue: 2), for: slot, at: bus.now)
      #expect(retained.count == count && retained.contains { $0.object == "mine/x" })
      #expect(queries.count == count && queries.contains { $0.object == "mine/x" })
    }
  }

  @Test("A list visits only retained notifications that are the user's own or that a line lets it list")
  func visited() {
    apply(
      "allow post,retain a.** user:ann", "allow list b.** *.x user:ann", "allow * c.** group:9",
      "deny list b.y user:*")
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.owner))
    for name in ["b.x", "b.y", "c.x", "c.y", "d"] { bus.post(name, text: "{}", by: other, .retain) }
    for name in ["a.x", "a.y"] { bus.post(name, text: "{}", by: ann, .retain) }
    func visited(of connection: UInt64, for slot: ConnectionSlot?) -> [String] {
      bus.bus.retainedNotifications(of: connection, for: slot).map { $0.entry(at: bus.now).name }.sorted()
    }
    #expect(visited(of: 0, for: ann) == ["a.x", "a.y", "b.x", "b.y", "c.x", "c.y"])
    #expect(visited(of: 1, for: ann) == ["a.x", "a.y"])
    #expect(visited(of: 0, for: other).count == 7 && visited(of: 0, for: nil).count == 7)
    #expect(
      bus.bus.retainedEntries(of: 0, for: ann, at: bus.now).map(\.name) == ["a.x", "a.y", "b.x", "c.x"])
  }

  private static let delegateLines: [([String], [[String]])] = [
    (["allow list ** user:ann"], [["a.*", "b.c", "d.**"], ["b.c"]]),
    (["allow list a.x b.** user:ann"], [["a.*", "b.c"], ["b.c"]]),
    (["allow list a.x user:ann"], [["a.*"]]), (["allow list e user:ann"], []),
    (["allow list ** user:ann", "deny list b.** user:ann"], [["a.*", "d.**"]]),
    (["allow list a.x object:o user:ann"], [["a.*"]]), (["allow list a.x object:p user:ann"], []),
  ]

  @Test("Of another user's delegate, only patterns that may be listed are listed", arguments: delegateLines)
  func delegatePatterns(_ lines: [String], _ listed: [[String]]) throws {
    apply(lines)
    let (ann, other) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.owner))
    bus.attach(["a.*", "b.c", "d.**"], to: "o", by: other, serial: 1)
    bus.attach(["b.c"], to: "o", by: other, serial: 2)
    #expect(bus.bus.delegateEntries(of: 0, for: ann).map(\.patterns) == listed)
    #expect(bus.bus.delegateEntries(of: 0, for: other).map(\.patterns.count) == [3, 1])
    apply(lines + ["allow list a.x user:ann"])
    let chain = try bus.explain("a.x", object: "o", for: ann).compactMap { entry in
      if case .delegate(let delegate) = entry { delegate.patterns } else { nil }
    }
    #expect(chain == [listed.first.map { Array(Set(["a.*"] + $0)).sorted() } ?? ["a.*"]])
  }

  @Test(
    "Objects, protocols and other users' connections need a permission to list everything",
    arguments: [
      ("allow list ** user:ann", true), ("allow list host.** user:ann", false),
      ("allow list ** object:o user:ann", false), ("allow * user.%U.** user:*", false),
      ("allow monitor ** user:*", false),
    ])
  func listingAll(_ line: String, _ mayList: Bool) {
    func listed(_ lines: [String]) -> [Bool] {
      apply(lines)
      let slot = bus.connect(uid: Self.ann)
      let code = refusal { () throws(WireError) in try bus.bus.requirePermissionToListAll(from: slot) }
      return [
        bus.bus.visibleUsers(for: slot).contains(1002), code == nil,
        bus.bus.visibleUsers(for: slot).contains(Self.ann),
      ]
    }
    #expect(listed([line]) == [mayList, mayList, true])
    #expect(listed([line, "deny list host.** user:*"]) == [mayList, mayList, true])
    #expect(listed([line, "deny list ** user:*"]) == [false, false, true])
  }

  private static let declarations: [(String, [Serial])] = [
    ("allow declare ** user:ann", [1, 2, 3]),
    ("allow declare ** object:o/** user:ann", [1]),
    ("deny declare ** object:o/y user:ann", [1]), ("deny declare ** object:elsewhere user:ann", [1]),
    ("allow declare a.** user:ann", []),
  ]

  @Test(
    "Defining a protocol, even for one object, needs a permission to declare all objects",
    arguments: declarations)
  func declaring(_ line: String, _ allowed: [Serial]) throws {
    bus.configure("protocol P {}")
    let lines = line.hasPrefix("deny") ? ["allow declare ** user:*", line] : [line]
    var refused: [Serial] = []
    bus.onEffect = {
      if case .refusal(_, let serial, let error) = $0, error.code == .notPermitted { refused.append(serial) }
    }
    func declare() -> ConnectionSlot {
      let slot = bus.connect(uid: Self.ann)
      bus.declare("o/x", as: "P", by: slot, serial: 1)
      bus.declare("o/z", as: "Q", defining: "protocol Q {}", by: slot, serial: 2)
      bus.declare(defining: "protocol R {}", by: slot, serial: 3)
      return slot
    }
    apply(lines)
    let slot = declare()
    #expect(refused == [1, 2, 3].filter { !allowed.contains($0) })
    bus.disconnect(slot)

    apply("allow * ** user:*")
    let other = declare()
    apply(lines)
    #expect([1, 2, 3].filter { bus.bus.isRegistered($0, by: other) } == allowed)
  }

  @Test("A reload ends registrations that are no longer allowed, with a reason")
  func reload() throws {
    apply("allow * ** user:*")
    let (ann, owner) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.owner))
    for slot in [ann, owner] {
      bus.observe("a", by: slot, serial: 1)
      bus.observe("b", by: slot, serial: 2)
      bus.attach(["a"], by: slot, serial: 3)
      bus.hold("a.*", by: slot, serial: 4)
      bus.declare("o", as: "P", defining: "protocol P {}", by: slot, serial: 5)
      bus.send(Monitor(), from: slot, serial: 6)
      bus.post("a.\(slot.letter)", text: "{}", by: slot, .retain)
    }
    _ = bus.take()
    apply("allow observe b user:*", "deny retain a.B user:root")
    func why(_ what: String) -> String {
      "user 1001 in test.service may not \(what): no line of the policy allows it"
    }
    bus.expect(
      "A ended 1 (\(why("observe a")))", "A ended 3 (\(why("delegate a")))", "A ended 4 (\(why("hold a.*")))",
      "A ended 5 (\(why("declare **")))", "A ended 6 (\(why("monitor **")))")
    #expect(bus.bus.observationEntries(of: 1, for: nil).map(\.pattern) == ["b"])
    #expect(bus.bus.delegateEntries(of: 0, for: nil).map(\.connection.rawValue) == [2])
    #expect(bus.bus.holdEntries(of: 0, for: nil, at: bus.now).map(\.connection.rawValue) == [2])
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.name) == ["a.B"])
    bus.observe("b", by: ann, serial: 3)
    bus.expect("A ok 3 as 3")
  }

  @Test("A reload's endings can be listed in advance, without any ending")
  func dryRun() throws {
    apply("allow * ** user:*")
    let ann = bus.connect(uid: Self.ann)
    bus.hold("a.*", by: ann, serial: 4)
    bus.hold("b.*", by: ann, serial: 5)
    let rules = AccessRules.policy(Policy(text: ["allow hold b.* user:*"]), exempt: [])
    let owner = bus.connect(uid: Self.owner)
    let ended = try bus.bus.endings(by: rules, for: owner)
    #expect(ended.map(\.connection.rawValue) == [1])
    #expect(
      ended.map(\.why) == ["user 1001 in test.service may not hold a.*: no line of the policy allows it"])
    #expect(bus.bus.holdCount == 2)
    apply("allow list ** user:*")
    #expect(throws: WireError.self) { try bus.bus.endings(by: rules, for: ann) }
  }

  @Test(
    "A delegate that ends at a reload counts as gone in its open queries",
    arguments: [(FailurePolicy.veto, "vetoed"), (.abstain, "allowed?")])
  func underWay(_ policy: FailurePolicy, _ verdict: String) {
    apply("allow * ** user:*")
    let (asker, delegate) = (bus.connect(uid: 1002), bus.connect(uid: Self.ann))
    bus.attach(["shouldX"], by: delegate, serial: 1, policy: policy)
    bus.ask("shouldX", by: asker, serial: 5)
    _ = bus.take()
    apply("allow ask ** user:*")
    #expect(bus.take().suffix(1) == ["A verdict 5 q1 \(verdict): d1 gone"])
    bus.ask("shouldX", by: asker, serial: 6)
    bus.expect("A verdict 6 q2 allowed?")
  }

  @Test("A query under way keeps its chain over a reload, whatever the new policy allows")
  func chainUnderWay() {
    apply("allow * ** user:*")
    let (asker, one, two) = (
      bus.connect(uid: 1002), bus.connect(uid: Self.ann), bus.connect(uid: Self.ann)
    )
    for delegate in [one, two] { bus.attach(["shouldX"], by: delegate, serial: 1) }
    bus.ask("shouldX", by: asker, serial: 5, mode: .order)
    apply("allow delegate shouldX user:ann")
    bus.attach(["shouldX"], by: bus.connect(uid: Self.owner), serial: 1)
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: one)
    bus.expect("C question 1 q1 d2 5000ms shouldX")
    bus.answer(.approve, delegate: 2, from: two)
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 approved, d2 approved")
    bus.ask("shouldX", by: asker, serial: 6)
    bus.expect("A refused 6 notPermitted")
  }

  @Test("A waiting post does not change a retained notification if the policy no longer allows that")
  func waitingPosts() {
    apply("allow * ** user:*")
    let (ann, bob) = (bus.connect(uid: Self.ann), bus.connect(uid: 1002))
    bus.post("b", text: "1", by: bob, .retain)
    bus.post("a", text: "1", by: ann, .retain, style: .whenIdle)
    bus.post("b", by: ann, .retain, style: .whenIdle)
    apply("allow * ** user:*", "deny retain ** user:ann")
    let uses = [Self.ann, 1002].map { bus.bus.accounts.account(of: $0).use(of: .retained) }
    #expect(uses[0] == uses[1])
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.name) == ["b"])
    #expect(bus.bus.accounts.nonEmpty.filter { $0.use(of: .retained) > 0 }.map(\.uid) == [1002])
  }

  @Test(
    "A retained notification stays if any process of its poster's user may retain it",
    arguments: [
      (["allow post,retain a.* group:9"], true), (["allow post,retain a.* unit:x.service"], true),
      (["allow post,retain a.* user:ann"], true), (["allow post,retain b.* user:ann"], false),
      (["allow post,retain a.* user:bob,group:9"], false),
      (["allow * ** user:*", "deny retain a.b user:*"], false),
      (["allow * ** user:*", "deny retain a.b group:9"], true), ([], false),
      (["allow retain a.* user:ann"], false), (["allow post a.* user:ann"], false),
      (["allow * ** user:*", "deny post a.b user:*"], false),
      (["allow * ** user:*", "deny post a.b unit:x.service"], true),
      (["allow retain a.* group:9", "allow post ** unit:x.service"], true),
    ] as [([String], Bool)])
  func retained(_ lines: [String], _ isKept: Bool) {
    apply("allow * ** user:*")
    bus.post("a.b", text: "{}", by: bus.connect(uid: Self.ann), .retain)
    apply(lines)
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).isEmpty != isKept)
  }
}

extension Policy {
  init(text lines: [String]) {
    var parser = PolicyParser(
      NameLookup(user: { ["root": 0, "ann": 1001, "bob": 1002][$0] }, group: { ["ops": 2001][$0] }))
    parser.read(Array(lines.joined(separator: "\n").utf8), file: "test.policy")
    // A random line may match only users that do not exist; the parser leaves it out.
    precondition(
      parser.diagnostics.allSatisfy { $0.isWarning || $0.message.contains("the line matches nobody") },
      "a test wrote an invalid policy: \(parser.diagnostics)")
    self.init(parser.lines)
  }
}
