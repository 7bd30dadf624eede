// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON

@testable import Tribune
@testable import TribuneCommands

@Suite("Output about delegation", .timeLimit(.minutes(15)))
struct DelegationOutputTests {
  private static let hold = HoldInfo(
    id: 8, connection: ":9", label: "nightly", pid: 42, uid: 0, process: "restore",
    units: Units(system: "backup.service"), pattern: "archive.**", object: "", why: "a restore\u{1B}",
    age: .seconds(61), expiresIn: .seconds(5))

  @Test("a verdict shows that no delegate answered, that it is overridden, and that it is a dry run")
  func overridden() throws {
    let context = try makeContext()
    let unanswered = Verdict(.allowed, query: 1, isUnanswered: true)
    #expect(unanswered.text(of: "a", object: "", in: context) == "allowed: a (no delegate answered)\n")
    let overridden = Verdict(.allowed, query: 1, isOverridden: true)
    #expect(overridden.text(of: "a", object: "", in: context) == "allowed: a (overridden)\n")
    #expect(overridden.json.compact.hasSuffix(#""unanswered":false,"overridden":true,"dryRun":false}"#))
    let dryRun = Verdict(.vetoed, query: 1, isDryRun: true)
    #expect(dryRun.text(of: "a", object: "", in: context) == "vetoed: a (dry run)\n")
    #expect(dryRun.json.compact.hasSuffix(#""overridden":false,"dryRun":true}"#))
  }

  @Test("a reply has its value, and each outcome its own")
  func reply() {
    let reply = QueryReply(
      query: 7,
      outcomes: [
        Outcome(delegate: 1, kind: .abstained),
        Outcome(delegate: 2, kind: .answered, value: #"{"rows": 3}"#),
        Outcome(delegate: 3, kind: .answered, value: UserInfo([0xFF])),
      ])
    let json = reply.json.compact
    #expect(json.hasPrefix(#"{"query":7,"value":{"rows":3},"outcomes":["#))
    #expect(
      json.contains(
        #""outcome":"answered","reason":"","pid":0,"uid":0,"process":"","unit":"","systemUnit":"","userUnit":"","#
      ))
    #expect(json.contains(#""elapsed":0,"value":{"rows":3}}"#))
    #expect(json.contains(#""elapsed":0,"valueBase64":"/w=="}"#))
    #expect(
      QueryReply(query: 7).json.compact == #"{"query":7,"value":null,"outcomes":[],"outcomesOmitted":0}"#)
  }

  @Test(
    "missing values are reported with the delegates that failed; one that abstains lacks none",
    arguments: [
      ([], 0, ["a has no value: no delegate answered"], ["a has no value: no delegate answered"]),
      ([silent], 0, ["a has no value", "  abstained by delegate 1 (pid 0, uid 0)"], nil),
      ([silent, answered], 0, [], []),
      (
        [failed, answered, gone], 0, [],
        [
          "a lacks values", "  failed by host:db2 (pid 0, uid 0): away",
          "  gone by delegate 4 (pid 0, uid 0)",
        ]
      ),
      ([answered], 2, [], ["a lacks values", "  and 2 more"]),
    ] as [([Outcome], Int, [String], [String]?)])
  func lack(outcomes: [Outcome], omitted: Int, first: [String], all: [String]?) {
    let reply = QueryReply(query: 7, outcomes: outcomes, omittedCount: omitted)
    #expect(reply.lack(of: "a", collects: false) == first)
    #expect(reply.lack(of: "a", collects: true) == all ?? first)
  }

  private static let silent = Outcome(delegate: 1, kind: .abstained)
  private static let answered = Outcome(delegate: 2, kind: .answered, value: "3")
  private static let failed = Outcome(delegate: 3, label: "host:db2", kind: .failed, reason: "away")
  private static let gone = Outcome(delegate: 4, kind: .gone)

  @Test("a hold in a table and in JSON")
  func holds() {
    #expect(
      Table(holds: [Self.hold]).text(hasHeader: true, isColoured: false) == """
        HOLD  NAME        OBJECT  LABEL    CONNECTION  PID  PROCESS  UID  UNIT                AGE  EXPIRES IN  WHY
           8  archive.**  any     nightly          :9   42  restore    0  backup.service  1min 1s          5s  a restore\\u{1b}

        """)
    #expect(
      Self.hold.json.compact
        == #"{"hold":8,"label":"nightly","name":"archive.**","object":"","why":"a restore\u001b","#
        + #""connection":":9","pid":42,"uid":0,"process":"restore","unit":"backup.service","systemUnit":"backup.service","userUnit":"","age":61,"expiresIn":5}"#
    )
  }

  @Test("an explanation lists holds, missing delegates and delegates, in this order")
  func explanation() {
    let delegate = DelegateInfo(
      id: 3, connection: ":9", label: "steward", pid: 1, uid: 0, process: "", units: Units(), object: "",
      order: 0,
      failurePolicy: .veto, timeout: .seconds(5), patterns: ["a"])
    let explanation = Explanation(holds: [Self.hold], missing: ["backup"], delegates: [delegate])
    #expect(
      explanation.legend(of: "a.shouldB")
        == "1 hold would veto it, unless it asks for a value. 1 missing delegate that is required "
        + "would veto it, unless it asks for a value. 1 delegate would be asked.")
    let lines = explanation.json.map(\.compact)
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix(#"{"hold":8,"#))
    #expect(lines[1] == #"{"missing":"backup"}"#)
    #expect(lines[2].hasPrefix(#"{"delegate":3,"#))
  }

  @Test("objects are drawn below their prefixes, and none hides another")
  func tree() throws {
    func object(_ name: String, _ protocolName: String? = nil, _ delegates: Int = 0) -> ObjectInfo {
      ObjectInfo(object: name, protocolName: protocolName, delegates: delegates, connection: nil)
    }
    let tree = ObjectTree([
      object("view/2", nil, 2), object("view/1/scroll", "P"), object("view", "Q", 1), object("archive/a"),
      object("/x"), object("x"), object("view//2"), object("\u{9B}"),
    ])
    #expect(
      tree.lines(in: try makeContext()) == [
        "├─ /", "│  └─ /x", "├─ archive", "│  └─ archive/a", "├─ view  Q, 1 delegate", "│  ├─ view/",
        "│  │  └─ view//2", "│  ├─ view/1", "│  │  └─ view/1/scroll  P", "│  └─ view/2  2 delegates",
        "├─ x", "└─ \\u{9b}",
      ])
    #expect(
      object("view/1", "P", 2).json.compact
        == #"{"object":"view/1","protocol":"P","delegates":2,"connection":null}"#)
  }

  private static let members = [
    MemberInfo(
      origin: "Base", kind: .should, isRequired: false, name: "view.shouldScroll", parameters: "(to: int)",
      documentation: ""),
    MemberInfo(
      origin: "Tap", kind: .value, isRequired: true, name: "view.target", parameters: "()",
      result: "(view: ?string)", documentation: "Where to."),
  ]

  @Test("inherited members name their origin")
  func members() {
    #expect(
      Table(members: Self.members, of: "Tap").text(hasHeader: true, isColoured: false) == """
        KIND    NAME               REQUIRED  SIGNATURE              FROM
        should  view.shouldScroll  optional  (to: int)              Base
        value   view.target        required  () -> (view: ?string)  -

        """)
    #expect(
      Self.members.map(\.json.compact) == [
        #"{"name":"view.shouldScroll","kind":"should","required":false,"parameters":"(to: int)","#
          + #""result":null,"from":"Base","documentation":""}"#,
        #"{"name":"view.target","kind":"value","required":true,"parameters":"()","#
          + #""result":"(view: ?string)","from":"Tap","documentation":"Where to."}"#,
      ])
  }

  @Test(
    "the name of the protocol is found for an object, a protocol, and an object of a pattern",
    arguments: [("view/1", "Tap"), ("Tap", "Tap"), ("window/1", "Tap"), ("Base", "Base")])
  func protocolName(subject: String, expected: String) {
    let protocols = [
      ProtocolInfo(name: "Base", parents: [], members: 1, connection: nil, documentation: ""),
      ProtocolInfo(name: "Tap", parents: ["Base"], members: 2, connection: nil, documentation: ""),
    ]
    let objects = [
      ObjectInfo(object: "view/1", protocolName: "Tap", delegates: 0, connection: ":1"),
      ObjectInfo(object: "window/*", protocolName: "Tap", delegates: 0, connection: nil),
    ]
    #expect(IntrospectCommand.protocolName(of: subject, Self.members, protocols, objects) == expected)
  }

  @Test(
    "a command under a delegate defers for it, and only in its own query",
    arguments: [
      (["TRIBUNE_QUERY": "12", "TRIBUNE_DELEGATE": "77"], 77), (["TRIBUNE_QUERY": "12"], 0),
      (["TRIBUNE_QUERY": "13", "TRIBUNE_DELEGATE": "77"], 0), (["TRIBUNE_DELEGATE": "77"], 0),
      (["TRIBUNE_QUERY": "12", "TRIBUNE_DELEGATE": "x"], 0), ([:], 0),
    ] as [([String: String], UInt64)])
  func deferring(environment: [String: String], delegate: UInt64) {
    #expect(DeferCommand.delegate(answering: 12, environment: { environment[$0] }) == delegate)
  }
}
