// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// The reports of the cluster's hosts about themselves, which this host's tribune-nats collects.
struct ClusterReport {
  typealias Row = (host: String, node: JSONNode)

  private var told: [(host: String, root: JSONNode)] = []
  private(set) var problems: [String] = []

  init(
    _ name: String, object: String = "", userInfo: UserInfo = .none, in context: Context
  ) async throws(CommandError) {
    let reply = try await orEnd { () async throws(TribuneError) -> QueryReply in
      let connection = try await context.connect()
      return try await bounded(by: connection.bus.replyTimeout(for: nil)) {
        () async throws(TribuneError) -> QueryReply in
        try await connection.collect(name, object: object, userInfo: userInfo)
      }
    }
    guard reply.outcomes.contains(where: \.isOfGateway) else {
      throw .failure("no delegate here answers \(name): is tribune-nats running?")
    }
    self.init(reply.outcomes)
  }

  /// - Parameter outcomes: can include several outcomes of one host. If a pattern in nats.conf, such as
  ///   `cluster.**`, also matches the report's name, the host has a second delegate, which abstains.
  init(_ outcomes: [Outcome]) {
    var outcomesByHost: [(host: String, outcomes: [Outcome])] = []
    for outcome in outcomes where outcome.isOfGateway || outcome.value != nil {
      if let index = outcomesByHost.firstIndex(where: { $0.host == outcome.host }) {
        outcomesByHost[index].outcomes.append(outcome)
      } else {
        outcomesByHost.append((outcome.host, [outcome]))
      }
    }
    for (host, outcomes) in outcomesByHost {
      let roots = outcomes.compactMap { $0.value?.jsonRoot }
      told += roots.map { (host, $0) }
      guard roots.isEmpty else { continue }
      let failure = outcomes.first { $0.kind != .abstained } ?? outcomes[0]
      problems.append("\(host.terminalSafe): \(failure.problem)")
    }
  }

  func rows(_ member: String) -> [Row] {
    told.flatMap { host, root in
      let list = root[member]
      return (0..<(list?.count ?? 0)).compactMap { index in list?[index].map { (host, $0) } }
    }
  }

  func omittedCount(_ member: String) -> Int {
    told.reduce(0) { $0 + ($1.root["\(member)Omitted"]?.integer ?? 0) }
  }

  var hostCount: Int { told.count }

  func status(in context: Context) -> Int32 {
    for problem in problems { context.terminal.report(problem) }
    return problems.isEmpty ? ExitStatus.success : ExitStatus.failure
  }

  static func json(_ row: Row) -> JSONValue {
    var members: [(name: String, value: JSONValue)] = [("host", .string(row.host))]
    for (name, value) in row.node.members { members.append((name, value.copy)) }
    return .object(members)
  }
}

extension Outcome {
  /// True for a delegate of tribune-nats. Delegates of other programs can also respond to a report's name.
  fileprivate var isOfGateway: Bool {
    label.hasPrefix("host:") || ["cluster", "starting"].contains(label)
  }

  fileprivate var host: String { label.hasPrefix("host:") ? String(label.dropFirst(5)) : label }

  fileprivate var problem: String {
    switch kind {
    case .timedOut: "it did not answer in time"
    case .gone: "its delegate has gone"
    case .abstained: "it has no answer"
    default: reason.isEmpty ? kind.rawValue : reason.terminalSafe
    }
  }
}

extension JSONNode {
  func text(_ member: String) -> String { self[member]?.string ?? "" }

  func count(_ member: String) -> String { self[member]?.integer.map(String.init) ?? "" }

  func span(_ member: String) -> String {
    guard let seconds = self[member]?.number, seconds.magnitude < 1e9 else { return "" }
    return Duration.milliseconds(Int64(seconds * 1_000)).formatted
  }
}

extension Table {
  init(holds: [ClusterReport.Row]) {
    self.init([
      Column(title: "HOST", style: .bold), "NAME", "OBJECT", "LABEL", .number("PID", rank: 1),
      .text("PROCESS", rank: 5), .number("UID", rank: 2), .text("UNIT", rank: 4), .number("AGE"),
      .number("EXPIRES IN", rank: 3), "WHY",
    ])
    for (host, hold) in holds {
      append([
        host, hold.text("name"), hold.text("object").isEmpty ? "any" : hold.text("object"),
        hold.text("label"),
        hold.count("pid"), hold.text("process"), hold.count("uid"), hold.text("unit"), hold.span("age"),
        hold.span("expiresIn"), hold.text("why"),
      ])
    }
  }

  /// Shows delegates in the order in which each host asks them.
  init(delegates: [ClusterReport.Row]) {
    self.init([
      Column(title: "HOST", style: .bold), .number("ORDER"), "DELEGATE", .number("PID", rank: 1),
      .text("PROCESS", rank: 5), .number("UID", rank: 2), .text("UNIT", rank: 4), "ON FAILURE",
      .number("TIMEOUT", rank: 3),
    ])
    for (host, delegate) in delegates {
      append([
        host, delegate.count("order"), delegate.text("label"), delegate.count("pid"),
        delegate.text("process"),
        delegate.count("uid"), delegate.text("unit"), delegate.text("onFailure"), delegate.span("timeout"),
      ])
    }
  }
}
