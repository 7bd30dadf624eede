// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// `explain NAME`.
struct ExplainCommand: Command {
  private let name: String
  private let object: String

  init(_ invocation: Invocation) throws(CommandError) {
    name = try invocation.name(at: 0)
    object = try invocation.object()
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let chain = try await context.request { [self] connection throws(TribuneError) in
      try await connection.explain(name, object: object)
    }
    if context.json != .off {
      for delegate in chain { try context.print(delegate.json) }
      return ExitStatus.success
    }
    if !chain.isEmpty { try context.print(Table(delegates: chain)) }
    if context.showsLegend {
      try context.print(
        chain.isEmpty
          ? "Nobody would be asked: the asker's own default decides."
          : "\n\(chain.count.counted("delegate")) would be asked.")
    }
    return ExitStatus.success
  }
}

extension Table {
  /// Delegates in the order that they have.
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
