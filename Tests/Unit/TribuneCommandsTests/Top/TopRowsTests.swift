// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneWire

@testable import Tribune
@testable import TribuneCommands

@Suite("The rows of top", .timeLimit(.minutes(15)))
struct TopRowsTests {
  private static func lines(_ groups: [TopGroup]) -> [String] {
    groups.flatMap { $0 }.map { $0.branch + ($0.values.last?.shown ?? "") }
  }

  static let nested = [
    QueryInfo.made(1, by: ":1", "shell", asks: "host.shouldReboot", .made("backup", of: ":2")),
    QueryInfo.made(
      2, by: ":2", "backupd", asks: "disk.shouldFlush", .made("db", of: ":3"), .made("mail", of: ":4")),
  ]

  @Test(
    "a query is followed by its awaited delegates, and each of these by its own queries",
    arguments: [
      ([], []),
      (
        nested,
        [
          "shell asks host.shouldReboot", "└─ waits for backup", "  └─ backupd asks disk.shouldFlush",
          "    └─ waits for db", "    └─ waits for mail",
        ]
      ),
      (
        nested.reversed(),
        [
          "shell asks host.shouldReboot", "└─ waits for backup", "  └─ backupd asks disk.shouldFlush",
          "    └─ waits for db", "    └─ waits for mail",
        ]
      ),
      (
        [
          .made(
            1, by: ":1", "a", asks: "n.m", .made("B", of: ":2", .settled(.approved)),
            .made("C", of: ":3", .unasked))
        ], ["a asks n.m"]
      ),
      (
        [.made(1, by: ":1", "", asks: "n.m", .made("", of: ":2", .queued))],
        ["connection :1 asks n.m", "└─ waits for delegate 1, which has others to answer before"]
      ),
      (
        [
          .made(1, by: ":1", "a", asks: "n.m", .made("B", of: ":2")),
          .made(2, by: ":2", "b", asks: "o.p", .made("A", of: ":1")),
        ],
        [
          "a asks n.m", "└─ waits for B", "  └─ b asks o.p", "    └─ waits for A",
          "      └─ a asks n.m, as above: a circle",
        ]
      ),
      (
        [
          .made(1, by: ":1", "a", asks: "n.m", .made("A", of: ":1")),
          .made(2, by: ":1", "a", asks: "o.p", .made("B", of: ":2")),
        ],
        ["a asks n.m", "└─ waits for A", "a asks o.p", "└─ waits for B"]
      ),
      (
        [.made(1, by: ":1", "a", asks: "n.m", omitted: 44, .made("B", of: ":2"))],
        ["a asks n.m", "└─ waits for B", "└─ and 44 more, not listed"]
      ),
    ] as [([QueryInfo], [String])])
  func tree(queries: [QueryInfo], lines: [String]) {
    #expect(Self.lines(WaitForest(queries).groups) == lines)
  }

  @Test("each query is in the tree once, however many delegates lead to it, and however deep it is")
  func treeIsBounded() {
    let crowd = (1...200 as ClosedRange<UInt64>).map { id in
      QueryInfo.made(id, by: ":1", "a", asks: "n.m", .made("A", of: ":1"), .made("B", of: ":1"))
    }
    let chain = (1...200 as ClosedRange<UInt64>).map { id in
      QueryInfo.made(id, by: ":\(id)", "a", asks: "n.m", .made("A", of: ":\(id + 1)"))
    }
    for queries in [crowd, chain] {
      let rows = WaitForest(queries).groups.flatMap { $0 }
      let asking = rows.filter { $0.depth % 2 == 0 && $0.values.last?.shown.contains("circle") == false }
      #expect(asking.count == 200)
      #expect(rows.count <= 200 * 5)
      #expect(rows.allSatisfy { $0.depth <= 64 })
    }
  }

  @Test("as a list, each awaited delegate has a row with its asker")
  func flat() {
    #expect(
      Self.lines(WaitForest(Self.nested).flatGroups) == [
        "shell asks host.shouldReboot, and waits for backup",
        "backupd asks disk.shouldFlush, and waits for db",
        "backupd asks disk.shouldFlush, and waits for mail",
      ])
  }

  @Test(
    "a delegate is marked once a query has waited for it for a second",
    arguments: [(.milliseconds(999), false), (.seconds(1), true)] as [(Duration, Bool)])
  func marked(span: Duration, isMarked: Bool) {
    let query = QueryInfo.made(1, by: ":1", "a", asks: "n.m", .made("B", of: ":2", for: span))
    let rows = DelegateRows(TopSample.queries(query).snapshot).groups.flatMap { $0 }
    #expect(rows.map(\.isMarked) == [isMarked])
    #expect(WaitForest([query]).groups.flatMap { $0 }.map(\.isMarked) == [false, isMarked])
  }

  @Test("a delegate has a row with its open questions, their oldest age, and its earlier answers")
  func delegates() {
    let model = TopModel.showing(
      .delegates(
        [
          .made("fast", timedOut: 1, approved: 2, times: [.milliseconds(1), .milliseconds(2), .seconds(3)]),
          .made("hung", uid: 5, approved: 1, times: [.seconds(60)]), .made("", uid: nil, approved: 9),
        ],
        .made(
          1, by: ":1", "a", asks: "n.m", .made("hung", of: ":2", for: .seconds(2), uid: 5),
          .made("fast", of: ":3")),
        .made(
          2, by: ":1", "a", asks: "n.m", .made("hung", of: ":2", for: .seconds(4), uid: 5),
          .made("new", of: ":4"))))
    #expect(model.column("LABEL") == ["hung", "fast", "new", "(others)"])
    #expect(model.column("OPEN") == ["2", "1", "1", "0"])
    #expect(model.column("OLDEST") == ["4.0s", "10ms", "10ms", "-"])
    #expect(model.column("DONE") == ["1", "2", "0", "9"])
    #expect(model.column("LATE") == ["0", "1", "0", "0"])
    #expect(model.column("MEDIAN") == ["60s", "2ms", "-", "-"])
    #expect(model.column("LONGEST") == ["60s", "3.0s", "-", "-"])
    #expect(model.column("UID") == ["5", "0", "0", "-"])
    #expect(model.rows.map(\.isMarked) == [true, false, false, false])
  }

  @Test("departed delegates come last, however slow they were, unless a query still waits for them")
  func gone() {
    let query = QueryInfo.made(1, by: ":1", "a", asks: "n.m", .made("leaving", of: ":2"))
    let sample = TopSample.made(.delegates) { snapshot in
      (snapshot.queries, snapshot.delegates) = ([query], [.made("here")])
      snapshot.participants = [
        .made("gone", approved: 1, times: [.seconds(60)]), .made("leaving", approved: 1),
        .made("here", approved: 1, times: [.seconds(1)]),
      ]
    }
    let model = TopModel.showing(sample)
    #expect(model.column("LABEL") == ["leaving", "here", "gone"])
    #expect(model.rows.map(\.isPast) == [false, false, true])
  }

  @Test(
    "rates are computed from two samples, and missing if a counter was reset",
    arguments: [(1, ["2", "1", "0"]), (-1, ["-", "-", "0"])] as [(Int, [String])])
  func rates(faster: Int, rates: [String]) {
    var model = TopModel.showing(.names(3, faster: faster < 0 ? 3 : 0))
    #expect(model.column("ASK/S") == ["-", "-", "-"])
    model.take(.names(3, at: 1, faster: max(0, faster)))
    #expect(
      Dictionary(uniqueKeysWithValues: zip(model.column("NAME"), model.column("ASK/S"))) == [
        "a.c": rates[0], "a.b": rates[1], "a.a": rates[2],
      ])
  }

  @Test("in JSON, values that are counted with others, or never occurred, are null")
  func json() {
    let others = UserStatistics(
      uid: nil, unit: "", connections: 0, posted: 0, postedBytes: 0, delivered: 0, lost: 0, asked: 0,
      denied: 0,
      refused: 0)
    let name = NameStatistics(
      name: nil, asked: 1, vetoed: 0, overridden: 0, cancelled: 0, outcomes: OutcomeCounts(),
      durations: DurationHistogram())
    for (sample, start) in [
      (.made(.users) { $0.users = [others] }, #"{"uid":null,"unit":"","#),
      (.made(.names) { $0.names = [name] }, #"{"name":null,"asked":1,"#),
      (
        .delegates([.made("", uid: nil)]),
        #"{"role":"delegate","label":"","unit":"","uid":null,"attached":null,"open":0,"oldest":null,"#
      ),
    ] as [(TopSample, String)] {
      #expect(sample.json.map(\.compact).first?.hasPrefix(start) == true)
    }
    let missing = QueryInfo.Participant.made("r", of: ":1", .settled(.vetoed))
    let query = TopSample.made(.queries) {
      $0.queries = [.made(1, by: ":1", "a", asks: "n.m", omitted: 3, missing)]
    }
    let text = query.json.map(\.compact).joined()
    #expect(text.contains(#""state":"vetoed","reason":"","elapsed":0.010000,"remaining":null,"#))
    #expect(text.hasSuffix(#"],"participantsOmitted":3}"#))
    #expect(name.durations.members.allSatisfy { $0.value.compact == "null" })
  }

  @Test("the rates of the bus are per second, and its work is a part of the time")
  func busRates() {
    func snapshot(_ bus: BusEntry, at seconds: Double) -> BusSnapshot {
      BusSnapshot(BusStatus(bus), at: TopSample.start.advanced(by: .seconds(seconds)))
    }
    let first = snapshot(BusEntry(uptime: 1, posted: 10, asked: 5, busy: 1_000_000), at: 0)
    let second = snapshot(BusEntry(uptime: 2, posted: 30, lost: 4, asked: 5, busy: 1_500_000), at: 2)
    let rates = TopRates(from: first, to: second)
    #expect(rates.posts == 10)
    #expect(rates.asks == 0)
    #expect(rates.losses == 2)
    #expect(rates.busy == 0.25)
    #expect(TopRates(from: second, to: snapshot(BusEntry(uptime: 1, posted: 40), at: 4)).posts == nil)
  }
}
