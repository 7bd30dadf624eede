// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// `explain NAME`.
struct ExplainCommand: Command {
  private let name: String
  private let object: String

  init(_ invocation: Invocation) throws(CommandError) {
    name = try invocation.name(at: 0)
    object = try invocation.object()
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let explanation = try await context.request { [self] connection throws(TribuneError) in
      try await connection.explain(name, object: object)
    }
    if context.json != .off {
      for line in explanation.json { try context.print(line) }
      return ExitStatus.success
    }
    let (holds, missing, chain) = (explanation.holds, explanation.missing, explanation.delegates)
    if !holds.isEmpty { try context.print(Table(holds: holds)) }
    for name in missing { try context.print("\(name.terminalSafe) is required, and not attached.") }
    if !holds.isEmpty || !missing.isEmpty, !chain.isEmpty { try context.print("") }
    if !chain.isEmpty { try context.print(Table(delegates: chain)) }
    if context.showsLegend { try context.print(explanation.legend) }
    return ExitStatus.success
  }
}

extension Explanation {
  /// One value for each hold, missing delegate and delegate, in this order. The members tell the kinds apart.
  var json: [JSONValue] {
    holds.map(\.json) + missing.map { .object([("missing", .string($0))]) } + delegates.map(\.json)
  }

  fileprivate var legend: String {
    var sentences: [String] = []
    if !holds.isEmpty {
      sentences.append("\(holds.count.counted("hold")) would veto it; values can be asked for.")
    }
    if delegates.isEmpty {
      sentences.append(
        holds.isEmpty && missing.isEmpty
          ? "Nobody would be asked: the asker's own default decides." : "Nobody would be asked.")
    } else {
      sentences.append("\(delegates.count.counted("delegate")) would be asked.")
    }
    if let protocolName { sentences.append("The object's protocol is \(protocolName.terminalSafe).") }
    let isTable = !holds.isEmpty || !missing.isEmpty || !delegates.isEmpty
    return (isTable ? "\n" : "") + sentences.joined(separator: " ")
  }
}

extension Table {
  /// The delegates, in the given order.
  init(delegates: [DelegateInfo]) {
    self.init([
      Column(title: "ORDER", isNumeric: true), Column(title: "DELEGATE"),
      Column(title: "CONNECTION", isNumeric: true),
      Column(title: "PID", isNumeric: true), Column(title: "PROCESS"), Column(title: "UID", isNumeric: true),
      Column(title: "UNIT"), Column(title: "ON FAILURE"), Column(title: "TIMEOUT", isNumeric: true),
      Column(title: "OBJECT"), Column(title: "RESPONDS TO"),
    ])
    for delegate in delegates {
      append([
        Cell(text: String(delegate.order)),
        Cell(text: delegate.label.isEmpty ? String(delegate.id) : delegate.label, style: .bold),
        Cell(text: delegate.connection), Cell(text: String(delegate.pid)), Cell(text: delegate.process),
        Cell(text: String(delegate.uid)), Cell(text: delegate.unit),
        Cell(text: delegate.failurePolicy.rawValue),
        Cell(text: delegate.timeout.inWords), Cell(text: delegate.object.isEmpty ? "any" : delegate.object),
        Cell(text: delegate.patterns.joined(separator: " ")),
      ])
    }
  }

  /// The holds, in the given order.
  init(holds: [HoldInfo]) {
    self.init([
      Column(title: "HOLD", isNumeric: true), Column(title: "NAME"), Column(title: "OBJECT"),
      Column(title: "CONNECTION", isNumeric: true), Column(title: "PID", isNumeric: true),
      Column(title: "PROCESS"), Column(title: "UID", isNumeric: true), Column(title: "UNIT"),
      Column(title: "AGE", isNumeric: true), Column(title: "EXPIRES IN", isNumeric: true),
      Column(title: "WHY"),
    ])
    for hold in holds {
      append([
        Cell(text: String(hold.id)), Cell(text: hold.pattern, style: .bold),
        Cell(text: hold.object.isEmpty ? "any" : hold.object), Cell(text: hold.connection),
        Cell(text: String(hold.pid)), Cell(text: hold.process), Cell(text: String(hold.uid)),
        Cell(text: hold.unit), Cell(text: hold.age.inWords), Cell(text: hold.expiresIn?.inWords ?? ""),
        Cell(text: hold.why),
      ])
    }
  }
}

extension DelegateInfo {
  var json: JSONValue {
    .object([
      ("delegate", .unsigned(id)), ("label", .string(label)), ("connection", .string(connection)),
      ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))), ("process", .string(process)),
      ("unit", .string(unit)), ("object", .string(object)), ("order", .integer(Int(order))),
      ("onFailure", .string(failurePolicy.rawValue)), ("timeout", .seconds(timeout)),
      ("respondsTo", .array(patterns.map { .string($0) })),
    ])
  }
}

extension HoldInfo {
  var json: JSONValue {
    .object([
      ("hold", .unsigned(id)), ("name", .string(pattern)), ("object", .string(object)),
      ("why", .string(why)), ("connection", .string(connection)), ("pid", .integer(Int(pid))),
      ("uid", .integer(Int(uid))), ("process", .string(process)), ("unit", .string(unit)),
      ("age", .seconds(age)), ("expiresIn", expiresIn.map { .seconds($0) } ?? .null),
    ])
  }
}
