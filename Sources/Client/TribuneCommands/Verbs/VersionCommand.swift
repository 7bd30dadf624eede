// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

struct VersionCommand: Command {
  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.write(
      "tribunectl \(Version.current)\n",
      or: .object([("program", .string("tribunectl")), ("version", .string(Version.current))]))
    return ExitStatus.success
  }
}
