// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneProtocols
import TribuneWire

/// `verify FILE…`.
struct VerifyCommand: Command {
  private let files: [String]

  init(_ invocation: Invocation) throws(CommandError) {
    files = invocation.operands
    if files.count(where: { $0 == "-" }) > 1 { throw .usage("standard input can be read only once") }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    var status = ExitStatus.success
    var sources: [ProtocolSource] = []
    for file in files {
      do throws(CommandError) {
        sources.append(ProtocolSource(file: file, text: try Invocation.definitions(in: file)))
      } catch {
        context.terminal.report(error.message)
        status = error.status
      }
    }
    // Only files define protocols here, so the owner type does not matter.
    var library = ProtocolLibrary<Int>()
    for diagnostic in library.load(sources) {
      status = ExitStatus.failure
      if context.json == .off {
        context.terminal.reportLine(diagnostic.description)
      } else {
        try context.print(diagnostic.json)
      }
    }
    if status == ExitStatus.success, context.json == .off, !context.isQuiet {
      let count = library.protocols.count
      try context.print(
        "\(count.counted("protocol")) in \(files.count.counted("file")) \(count == 1 ? "is" : "are") valid")
    }
    return status
  }
}

extension ProtocolDiagnostic {
  fileprivate var json: JSONValue {
    .object([
      ("file", .string(location.file)), ("line", .integer(location.line)),
      ("column", .integer(location.column)), ("message", .string(message)),
    ])
  }
}
