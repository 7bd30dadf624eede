// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct ActionsCommand: Command {
  init(_ invocation: Invocation) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let actions = try await context.request { bus throws(TribuneError) in
      try await bus.actions(includingWaiting: true)
    }
    let waitingCount = actions.count { $0.stage != .underWay }
    try context.list(
      actions.map { $0.json }, text: try context.text(of: Table(actions: actions)),
      legend: "\((actions.count - waitingCount).counted("action")) under way"
        + (waitingCount == 0 ? "." : ", \(waitingCount) waiting."))
    return ExitStatus.success
  }
}

extension Table {
  init(actions: [ActionInfo]) {
    self.init([
      .number("QUERY", rank: 4), Column(title: "NAME", style: .bold), "OBJECT",
      .number("CONNECTION", rank: 5),
      .number("PID", rank: 1), "PROCESS", .number("UID", rank: 2), .text("UNIT", rank: 3), "STAGE",
      .number("AGE"),
    ])
    for action in actions {
      append([
        String(action.query), action.name, action.object.isEmpty ? "any" : action.object, action.connection,
        String(action.pid), action.process, String(action.uid), action.units.description,
        action.stage.text, action.age.formatted,
      ])
    }
  }
}

extension ActionInfo {
  var json: JSONValue {
    .object(
      [
        ("query", .unsigned(query)), ("name", .string(name)), ("object", .string(object)),
        ("connection", .string(connection)),
      ] + units.members(ofProcess: pid, uid, process)
        + [("stage", .string(stage.rawValue)), ("age", .seconds(age))])
  }

  /// Example: `backup.shouldPrune repo/main by restic (pid 77), for 3s`.
  var line: String {
    "\(subjectText(name, object)) by \(process.terminalSafe) (pid \(pid)), "
      + (stage == .underWay ? "" : "\(stage.text) ") + "for \(age.formatted)"
  }
}

extension ActionInfo.Stage {
  var text: String {
    switch self {
    case .underWay: "under way"
    case .waiting: "waiting"
    case .claiming: "claiming"
    }
  }
}
