// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

struct HoldsCommand: Command {
  private let scope: Scope?

  init(_ invocation: Invocation) throws(CommandError) { scope = invocation.scope() }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if scope == .cluster { return try await listThoseOfTheCluster(in: context) }
    let holds = try await context.request { connection throws(TribuneError) in try await connection.holds() }
    try context.list(
      holds.map(\.json), text: try context.text(of: Table(holds: holds)),
      legend: "\(holds.count.counted("hold")) listed.")
    return ExitStatus.success
  }

  private func listThoseOfTheCluster(in context: Context) async throws(CommandError) -> Int32 {
    let report = try await ClusterReport("cluster.holds", in: context)
    let holds = report.rows("holds")
    let omitted = report.omittedCount("holds")
    let more = omitted > 0 ? " \(omitted) more are not listed." : ""
    try context.list(
      holds.map(ClusterReport.json), text: try context.text(of: Table(holds: holds)),
      legend: "\(holds.count.counted("hold")) of \(report.hostCount.counted("host")) listed.\(more)")
    return report.status(in: context)
  }
}
