// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

package struct Tribunectl: Sendable {
  private let terminal: Terminal
  private let prepared: Result<Prepared, CommandError>

  private struct Prepared: Sendable {
    var invocation: Invocation
    var command: any Command
    var context: Context
  }

  /// Prepares the verb. Must be called while the process has a single thread. `init` blocks the verb's
  /// signals for this thread, and for all threads that start later.
  ///
  /// - Parameter arguments: the arguments without the program's name.
  package init(_ arguments: [[UInt8]]) {
    let terminal = Terminal()
    self.terminal = terminal
    prepared = Result { () throws(CommandError) in try Self.prepare(arguments, terminal: terminal) }
  }

  package func run() async -> Int32 {
    do throws(CommandError) {
      var prepared = try prepared.get()
      if prepared.invocation.needsInput {
        try await prepared.invocation.readInput(upTo: await prepared.context.payloadMax())
        prepared.command = try prepared.invocation.verb.command.init(prepared.invocation)
      }
      return try await prepared.command.run(in: prepared.context)
    } catch {
      if !error.message.isEmpty { terminal.report(error.message) }
      return error.status
    }
  }

  private static func prepare(_ arguments: [[UInt8]], terminal: Terminal) throws(CommandError) -> Prepared {
    let invocation = try read(arguments)
    let command = try invocation.verb.command.init(invocation)
    if let program = invocation.command.first { try check(program) }
    if let program = invocation.text(.concluded) { try check(Array(program.utf8)) }
    let signals: SignalWatch
    do throws(Errno) {
      signals = try SignalWatch(command.signals)
    } catch {
      throw .failure("signals cannot be waited for: \(error)")
    }
    return Prepared(
      invocation: invocation, command: command,
      context: try Context(invocation, terminal: terminal, signals: signals))
  }

  /// Throws if the command's program cannot be found. The verb must not begin in this case, because other
  /// clients would rely on the verb's delegate, lease or announcement.
  private static func check(_ program: [UInt8]) throws(CommandError) {
    do throws(Errno) {
      try ProgramFile.check(program)
    } catch {
      throw .cannotStart([program], error)
    }
  }

  private static func read(_ arguments: [[UInt8]]) throws(CommandError) -> Invocation {
    do throws(CommandLineParser.UsageError) {
      switch try CommandLineParser.parse(arguments) {
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
