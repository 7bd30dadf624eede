// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct DeclareCommand: Command {
  var signals: [Int32] { SignalWatch.interrupting }

  private let object: String
  private let protocolName: String
  private let file: String?

  init(_ invocation: Invocation) throws(CommandError) {
    object = try Invocation.checkedObject(invocation.operands[0])
    guard !object.isEmpty else { throw .usage("a declaration needs an object") }
    guard !NameSyntax.hasWildcard(object.utf8Bytes) else {
      throw .usage(
        "\"\(object.terminalSafe)\" has a wildcard: declare patterns of objects with "
          + "[Object \"\(object.terminalSafe)\"] in tribuned.conf")
    }
    protocolName = invocation.operands[1]
    guard (1...WireLimits.protocolNameLength).contains(protocolName.utf8.count) else {
      throw .usage("a protocol name must have 1 to \(WireLimits.protocolNameLength) bytes")
    }
    file = invocation.text(.definitions)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let definitions = try definitions()
    let connection: Connection
    do throws(TribuneError) {
      connection = try await context.connectToStay()
      try await bounded(by: context.timeout) { [self, connection] () async throws(TribuneError) in
        _ = try await connection.declare(object, as: protocolName, definitions: definitions)
      }
    } catch {
      throw refusal(error)
    }
    context.reportReady("declared \(object.terminalSafe) as \(protocolName.terminalSafe)")
    let end = await first(
      of: { () async -> TribuneError? in
        await context.signals.interruption()
        return nil
      },
      { () async -> TribuneError? in await connection.closed() })
    if let error = end ?? nil { throw CommandError(error) }
    await connection.close()
    return ExitStatus.success
  }

  /// Puts the file's name, which the bus does not know, before the line and column of each error.
  private func refusal(_ error: TribuneError) -> CommandError {
    guard let file, error.code == .invalidProtocol || error.code == .conflict,
      error.message.first?.isNumber == true
    else { return CommandError(error) }
    let lines = error.message.split(separator: "\n").map { "\(file):\($0)".terminalSafe }
    return .failure(lines.joined(separator: "\n"))
  }

  private func definitions() throws(CommandError) -> String {
    guard let file else { return "" }
    let bytes = try Invocation.definitions(in: file)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .failure("\(file.terminalSafe): it is not UTF-8")
    }
    return text
  }
}
