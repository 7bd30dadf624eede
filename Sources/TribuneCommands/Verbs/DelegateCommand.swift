// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// `delegate NAME…`.
struct DelegateCommand: Command {
  static var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let object: String
  private let way: AnsweringDelegate.Way
  private let order: Int32
  private let onFailure: FailurePolicy
  private let timeout: Duration?
  private let label: String

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    object = try invocation.object()
    order = Int32(clamping: invocation.number(.order) ?? 0)
    onFailure = invocation.text(.onFailure) == "abstain" ? .abstain : .veto
    timeout = try invocation.wireTimeout()
    label = invocation.text(.label) ?? ""
    guard label.utf8.count <= 255 else { throw .usage("--label has at most 255 bytes") }
    let ways: [AnsweringDelegate.Way] = [
      invocation.has(.approve) ? .answer(.approve) : nil,
      invocation.text(.veto).map { .answer(.veto($0)) },
      invocation.has(.exec) ? .command(invocation.command) : nil,
    ].compactMap { $0 }
    guard let way = ways.first, ways.count == 1 else {
      throw .usage("delegate needs one of --approve, --veto=REASON and --exec CMD…")
    }
    self.way = way
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let delegate = AnsweringDelegate(way, in: context)
    let connection: Connection
    let attachment: Attachment
    do throws(TribuneError) {
      connection = try await context.connect()
      attachment = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> Attachment in
        try await connection.attach(
          delegate, to: object, respondingTo: patterns, order: order, onFailure: onFailure, timeout: timeout,
          label: label)
      }
    } catch {
      throw CommandError(error)
    }
    let about = object.isEmpty ? "any object" : "object \(object.terminalSafe)"
    context.reportReady(
      "attached \(patterns.joined(separator: " ").terminalSafe) (\(about), delegate \(attachment.id))")
    let end = await first(
      of: { () async -> CommandError in
        await context.signals.interruption()
        return .ended(ExitStatus.success)
      },
      { () async -> CommandError in
        guard let error = await connection.closed() else { return .ended(ExitStatus.success) }
        return CommandError(error)
      },
      { () async -> CommandError in await delegate.brokenOutput() })
    // The chain does not keep the delegate; this does, until here.
    await delegate.end()
    throw end ?? .ended(ExitStatus.success)
  }
}
