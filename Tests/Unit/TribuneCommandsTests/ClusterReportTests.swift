// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneJSON

@testable import TribuneCommands

@Suite("Reports of a cluster's hosts", .timeLimit(.minutes(15)))
struct ClusterReportTests {
  private static func outcome(_ label: String, _ kind: Outcome.Kind, _ reason: String = "") -> Outcome {
    Outcome(delegate: 1, label: label, kind: kind, reason: reason)
  }

  private static func value(_ label: String, _ text: UserInfo) -> Outcome {
    Outcome(delegate: 1, label: label, kind: .answered, value: text)
  }

  private static let configured = ["host:db2", "host:db3"].map { outcome($0, .abstained) }

  @Test(
    "A host that reported something has no problem; another host is named once, with its failure",
    arguments: [
      (configured + [value("host:db1", "{}"), value("host:db2", "{}"), value("host:db3", "{}")], 3, []),
      (
        configured + [
          value("host:db1", "{}"), value("host:db2", "{}"), outcome("host:db3", .failed, "away"),
        ],
        2, ["db3: away"]
      ),
      (
        [outcome("host:db3", .timedOut)] + configured, 0,
        ["db3: it did not answer in time", "db2: it has no answer"]
      ),
      ([outcome("", .abstained), outcome("audit", .failed), value("host:db1", "{}")], 1, []),
      (configured + configured, 0, ["db2: it has no answer", "db3: it has no answer"]),
      (
        [value("host:db2", "{"), outcome("host:db3", .gone)], 0,
        ["db2: answered", "db3: its delegate has gone"]
      ),
      (
        [outcome("cluster", .failed, "cluster unreachable: \u{1B}")], 0,
        ["cluster: cluster unreachable: \\u{1b}"]
      ),
    ] as [([Outcome], Int, [String])])
  func problems(outcomes: [Outcome], hosts: Int, problems: [String]) {
    let report = ClusterReport(outcomes)
    #expect(report.hostCount == hosts)
    #expect(report.problems == problems)
  }

  @Test("The rows of all hosts begin with the host")
  func rows() {
    let report = ClusterReport([
      Self.value("host:db1", #"{"holds":[{"name":"a"}]}"#),
      Self.value("host:db2", #"{"holds":[{"name":"b"},{"name":"c"}],"holdsOmitted":2}"#),
    ])
    #expect(
      report.rows("holds").map { ClusterReport.json($0).compact } == [
        #"{"host":"db1","name":"a"}"#, #"{"host":"db2","name":"b"}"#, #"{"host":"db2","name":"c"}"#,
      ])
    #expect(report.omittedCount("holds") == 2)
  }
}
