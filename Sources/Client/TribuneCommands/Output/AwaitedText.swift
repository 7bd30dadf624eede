// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

extension AwaitedReply {
  var json: JSONValue {
    .object([("acknowledged", .integer(acknowledged)), ("missing", .array(missing.map(\.json)))])
  }

  /// The text lists at most this many observers, and counts the others, because every user can have many.
  private static let printedMax = 100

  func missingLines(of name: String, object: String) -> [String] {
    if missing.isEmpty { return [] }
    let all = acknowledged + missing.count
    return ["\(missing.count) of \(all) did not acknowledge \(subjectText(name, object)):"]
      + missing.prefix(Self.printedMax).map { "  " + $0.line }
      + (missing.count > Self.printedMax ? ["  … and \(missing.count - Self.printedMax) more"] : [])
  }
}

extension AwaitedReply.Missing {
  fileprivate var json: JSONValue {
    .object(
      [("connection", .string(connection))] + units.members(ofProcess: pid, uid, process) + [
        ("failure", .string(kind.rawValue)), ("reason", .string(reason)), ("elapsed", .seconds(elapsed)),
      ])
  }

  /// Example: `failed    flush.sh (:7, pid 42, uid 0, backup.service): exited with 1  [1ms]`.
  fileprivate var line: String {
    let word = kind.rawValue + String(repeating: " ", count: max(0, 9 - kind.rawValue.count))
    let parts = [connection, "pid \(pid)", "uid \(uid)", units.description].filter { !$0.isEmpty }
    let participant = (process.isEmpty ? "connection" : process) + " (" + parts.joined(separator: ", ") + ")"
    return
      "\(word) \(participant.terminalSafe)\(reason.printed.terminalSafe.afterColon)  [\(elapsed.formatted)]"
  }
}

extension String {
  private static let printedReasonLength = 256

  /// The reason, shortened if it is long, because every user can cause many long reasons.
  var printed: String {
    utf8.count > Self.printedReasonLength ? prefix(utf8Length: Self.printedReasonLength) + "…" : self
  }
}

extension Context {
  func reportMissing(in reply: AwaitedReply, of name: String, object: String) {
    for (number, line) in reply.missingLines(of: name, object: object).enumerated() {
      if number == 0 { terminal.report(line) } else { terminal.reportLine(line) }
    }
  }
}
