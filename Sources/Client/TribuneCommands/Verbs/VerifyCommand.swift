// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribunePolicy
import TribuneProtocols
import TribuneSystem
import TribuneWire

struct VerifyCommand: Command {
  private let files: [String]

  init(_ invocation: Invocation) throws(CommandError) {
    files = invocation.operands
    if files.count(where: { $0 == "-" }) > 1 { throw .usage("standard input can be read only once") }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    var status = ExitStatus.success
    var protocols: [ProtocolSource] = []
    var policy = PolicyParser(.ofHost)
    var policyCount = 0
    for file in files {
      do throws(CommandError) {
        let text = try Invocation.definitions(in: file)
        if file.hasSuffix(".policy") {
          policyCount += 1
          policy.read(text, file: file)
        } else if file.hasSuffix(".test") {
          policy.read(tests: text, file: file)
        } else if file.hasSuffix(".protocol") || file == "-" {
          protocols.append(ProtocolSource(file: file, text: text))
        } else {
          throw .failure("\(file.terminalSafe): verify takes .protocol, .policy and .test files")
        }
      } catch {
        context.terminal.report(error.message)
        status = error.status
      }
    }
    // The type parameter is for a protocol's owner. Files have no owners, so any type will do.
    var library = ProtocolLibrary<Int>()
    for diagnostic in library.load(protocols) {
      status = ExitStatus.failure
      try print(diagnostic.description, diagnostic.json, in: context)
    }
    for diagnostic in policy.diagnostics + failures(of: policy) {
      if !diagnostic.isWarning { status = ExitStatus.failure }
      try print(diagnostic.description, diagnostic.json, in: context)
    }
    guard status == ExitStatus.success, !context.writesValues, !context.isQuiet else { return status }
    if !protocols.isEmpty {
      let count = library.protocols.count
      try context.print(
        "\(count.counted("protocol")) in \(protocols.count.counted("file")) \(count == 1 ? "is" : "are") valid"
      )
    }
    if protocols.count < files.count {
      try context.print(
        "\(policy.lines.count.counted("line")) of policy in \(policyCount.counted("file")), and "
          + "\(policy.tests.count.counted("expectation")): valid")
    }
    return status
  }

  private func failures(of parser: PolicyParser) -> [PolicyDiagnostic] {
    let policy = Policy(parser.lines)
    return parser.tests.compactMap { test in
      test.failure(of: policy).map {
        PolicyDiagnostic(
          isWarning: false, file: test.origin.file, line: test.origin.number, column: 1, message: $0)
      }
    }
  }

  private func print(_ text: String, _ json: JSONValue, in context: Context) throws(CommandError) {
    if !context.writesValues {
      context.terminal.reportLine(text)
    } else {
      try context.print(json)
    }
  }
}

extension NameLookup {
  fileprivate static let ofHost = NameLookup(
    user: { try UserDatabase.id(of: $0) }, group: { try UserDatabase.id(ofGroup: $0) })
}

extension PolicyDiagnostic {
  fileprivate var json: JSONValue {
    .object([
      ("file", .string(file)), ("line", .integer(line)), ("column", .integer(column)),
      ("warning", .bool(isWarning)), ("message", .string(message)),
    ])
  }
}

extension ProtocolDiagnostic {
  fileprivate var json: JSONValue {
    .object([
      ("file", .string(location.file)), ("line", .integer(location.line)),
      ("column", .integer(location.column)), ("warning", .bool(false)),
      ("message", .string(message)),
    ])
  }
}
