// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// The program: reads the line, runs the verb, says what went wrong.
package enum Tribunectl {
  /// - Parameter arguments: without the program's own name.
  /// - Returns: the status to exit with.
  package static func run(_ arguments: [[UInt8]]) async -> Int32 {
    let terminal = Terminal()
    do throws(CommandError) {
      let invocation = try read(arguments)
      let command = try invocation.verb.command.init(invocation)
      return try await command.run(in: try Context(invocation, terminal: terminal))
    } catch {
      if !error.message.isEmpty { terminal.report(error.message) }
      return error.status
    }
  }

  private static func read(_ arguments: [[UInt8]]) throws(CommandError) -> Invocation {
    do throws(CommandLineParser.UsageError) {
      switch try CommandLineParser.parse(arguments, by: .standard) {
      case .run(let invocation): return invocation
      case .help(let verb): return Invocation(verb: .help, operands: verb.map { [$0.rawValue] } ?? [])
      case .version: return Invocation(verb: .version)
      }
    } catch {
      let help = error.verb.map { "tribunectl help \($0.rawValue)" } ?? "tribunectl help"
      throw .usage("\(error.message)\nTry \"\(help)\".")
    }
  }
}
