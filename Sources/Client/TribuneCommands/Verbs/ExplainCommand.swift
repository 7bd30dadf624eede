// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct ExplainCommand: Command {
  private let name: String
  private let object: String
  private let scope: Scope?

  init(_ invocation: Invocation) throws(CommandError) {
    name = try invocation.question(at: 0, orValue: true)
    object = try invocation.object(of: [name])
    scope = invocation.scope()
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.requireAskers(of: [name])
    if scope == .cluster { return try await explainForTheCluster(in: context) }
    var explanation = try await context.request { [self] connection throws(TribuneError) in
      try await connection.explain(name, object: object)
    }
    // The delegates of tribune-nats represent other hosts, which are outside the scope `host`.
    if scope == .host { explanation.delegates.removeAll { $0.process == "tribune-nats" } }
    try context.list(
      explanation.json, text: try text(of: explanation, in: context), legend: explanation.legend(of: name))
    return ExitStatus.success
  }

  private func explainForTheCluster(in context: Context) async throws(CommandError) -> Int32 {
    let report = try await ClusterReport(
      "cluster.explain", object: object,
      userInfo: UserInfo(JSONValue.object([("name", .string(name))]).compactBytes), in: context)
    let (holds, missing, delegates) = (report.rows("holds"), report.rows("missing"), report.rows("delegates"))
    let tables = [
      try context.text(of: Table(holds: holds)), try context.text(of: Table(delegates: delegates)),
    ]
    let lacks = missing.map { host, node in
      "\(host.terminalSafe): \(Explanation.lack(node.string ?? ""))\n"
    }
    let values =
      holds.map(ClusterReport.json)
      + missing.map { .object([("host", .string($0.host)), ("missing", $0.node.copy)]) }
      + delegates.map(ClusterReport.json)
    try context.list(
      values, text: (tables + [lacks.joined()]).filter { !$0.isEmpty }.joined(separator: "\n"),
      legend: "\(delegates.count.counted("delegate")) of \(report.hostCount.counted("host")) would be asked.")
    return report.status(in: context)
  }

  private func text(of explanation: Explanation, in context: Context) throws(CommandError) -> String {
    var text = try context.text(of: Table(holds: explanation.holds))
    if !explanation.actions.isEmpty {
      text += (text.isEmpty ? "" : "\n") + (try context.text(of: Table(actions: explanation.actions)))
    }
    for name in explanation.missing { text += Explanation.lack(name) + "\n" }
    if !text.isEmpty, !explanation.delegates.isEmpty { text += "\n" }
    return try text + context.text(of: Table(delegates: explanation.delegates))
  }
}

extension Explanation {
  static func lack(_ name: String) -> String {
    name == "*"
      ? "No delegate responds, and the configuration vetoes what nobody approves."
      : "\(name.terminalSafe) is required, but not attached."
  }

  var json: [JSONValue] {
    holds.map(\.json) + actions.map(\.json) + missing.map { .object([("missing", .string($0))]) }
      + delegates.map(\.json)
  }

  func legend(of name: String) -> String {
    var sentences: [String] = []
    if !holds.isEmpty {
      sentences.append("\(holds.count.counted("hold")) would veto it, unless it asks for a value.")
    }
    if !actions.isEmpty { sentences.append("\(actions.count.counted("action")) of it under way.") }
    let required = missing.count { $0 != "*" }
    if required > 0 {
      let delegates = required.counted("missing delegate that is", "missing delegates that are")
      sentences.append("\(delegates) required would veto it, unless it asks for a value.")
    }
    if delegates.isEmpty {
      sentences.append(
        holds.isEmpty && missing.isEmpty
          ? "No delegate would be asked: the asker's own default decides." : "No delegate would be asked.")
    } else {
      sentences.append("\(delegates.count.counted("delegate")) would be asked.")
    }
    if ActionNames.isValue(name) {
      sentences.append("It is no question, and can only be queried for a value.")
    }
    if let protocolName { sentences.append("The object's protocol is \(protocolName.terminalSafe).") }
    return sentences.joined(separator: " ")
  }
}

extension Table {
  init(delegates: [DelegateInfo]) {
    self.init([
      .number("ORDER"), Column(title: "DELEGATE", style: .bold), .number("CONNECTION", rank: 6),
      .number("PID", rank: 1), .text("PROCESS", rank: 5), .number("UID", rank: 2), .text("UNIT", rank: 4),
      "ON FAILURE", .number("TIMEOUT", rank: 3), "OBJECT", "RESPONDS TO",
    ])
    for delegate in delegates {
      append([
        String(delegate.order), delegate.label.isEmpty ? String(delegate.id) : delegate.label,
        delegate.connection, String(delegate.pid), delegate.process, String(delegate.uid),
        delegate.units.description,
        delegate.failurePolicy.rawValue, delegate.timeout.formatted,
        delegate.object.isEmpty ? "any" : delegate.object, delegate.patterns.joined(separator: " "),
      ])
    }
  }

  init(holds: [HoldInfo]) {
    self.init([
      .number("HOLD", rank: 6), Column(title: "NAME", style: .bold), "OBJECT", "LABEL",
      .number("CONNECTION", rank: 7), .number("PID", rank: 1), .text("PROCESS", rank: 5),
      .number("UID", rank: 2), .text("UNIT", rank: 4), .number("AGE"), .number("EXPIRES IN", rank: 3), "WHY",
    ])
    for hold in holds {
      append([
        String(hold.id), hold.pattern, hold.object.isEmpty ? "any" : hold.object, hold.label,
        hold.connection, String(hold.pid), hold.process, String(hold.uid), hold.units.description,
        hold.age.formatted, hold.expiresIn?.formatted ?? "", hold.why,
      ])
    }
  }
}

extension DelegateInfo {
  var json: JSONValue {
    .object(
      [
        ("delegate", .unsigned(id)), ("label", .string(label)), ("connection", .string(connection)),
      ] + units.members(ofProcess: pid, uid, process) + [
        ("object", .string(object)), ("order", .integer(Int(order))),
        ("onFailure", .string(failurePolicy.rawValue)), ("timeout", .seconds(timeout)),
        ("respondsTo", .array(patterns.map { .string($0) })),
      ])
  }
}

extension HoldInfo {
  var json: JSONValue {
    .object(
      [
        ("hold", .unsigned(id)), ("label", .string(label)), ("name", .string(pattern)),
        ("object", .string(object)), ("why", .string(why)), ("connection", .string(connection)),
      ] + units.members(ofProcess: pid, uid, process) + [
        ("age", .seconds(age)), ("expiresIn", expiresIn.map { .seconds($0) } ?? .null),
      ])
  }
}
