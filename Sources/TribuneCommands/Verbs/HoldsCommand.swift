// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// `holds`.
struct HoldsCommand: Command {
  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let holds = try await context.request { connection throws(TribuneError) in try await connection.holds() }
    try context.list(
      holds.map(\.json), text: context.text(of: Table(holds: holds)),
      legend: "\(holds.count.counted("hold")) listed.")
    return ExitStatus.success
  }
}
