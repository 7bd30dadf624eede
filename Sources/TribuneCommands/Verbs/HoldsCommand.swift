// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// `holds`.
struct HoldsCommand: Command {
  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let holds = try await context.request { connection throws(TribuneError) in try await connection.holds() }
    if context.json != .off {
      for hold in holds { try context.print(hold.json) }
      return ExitStatus.success
    }
    if !holds.isEmpty { try context.print(Table(holds: holds)) }
    if context.showsLegend {
      try context.print((holds.isEmpty ? "" : "\n") + "\(holds.count.counted("hold")) listed.")
    }
    return ExitStatus.success
  }
}
