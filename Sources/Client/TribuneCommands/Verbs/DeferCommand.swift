// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct DeferCommand: Command {
  private let query: UInt64
  private let span: Duration
  private let status: String
  /// The delegate's id; nil to take it from the environment.
  private let delegate: UInt64?

  init(_ invocation: Invocation) throws(CommandError) {
    guard let query = UInt64(invocation.operands[0]), query > 0 else {
      throw .usage(
        "\"\(invocation.operands[0].terminalSafe)\" is not the id of a query: ids are numbers from 1 on")
    }
    self.query = query
    span = try Self.span(invocation.operands[1])
    status = invocation.text(.status) ?? ""
    delegate = invocation.number(.delegateID).map { UInt64($0) }
  }

  private static func span(_ text: String) throws(CommandError) -> Duration {
    let span: TimeSpan
    do throws(TimeSpan.SyntaxError) {
      span = try TimeSpan(text)
    } catch {
      throw .usage("\"\(text.terminalSafe)\" is not a valid time to defer by: \(error)")
    }
    return try Invocation.checkedWireSpan(span, of: "the time to defer by")
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let delegate = delegate ?? Self.delegate(answering: query, environment: Environment.nonEmptyValue(of:))
    try await context.request { [self] connection throws(TribuneError) in
      try await connection.deferAnswer(query: query, delegate: delegate, by: span, status: status)
    }
    return ExitStatus.success
  }

  /// The delegate's id from the environment. Returns 0 if the command was not started to answer this query,
  /// so the environment does not name the query. For 0, the bus takes the only delegate of this user that the
  /// query waits for.
  static func delegate(answering query: UInt64, environment: (String) -> String?) -> UInt64 {
    guard let own = environment("TRIBUNE_QUERY").flatMap({ UInt64($0) }), own == query else { return 0 }
    return environment("TRIBUNE_DELEGATE").flatMap { UInt64($0) } ?? 0
  }
}
