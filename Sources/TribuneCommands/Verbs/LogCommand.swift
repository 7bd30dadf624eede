// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// `log [NAME]`.
struct LogCommand: Command {
  /// Nil for any.
  private let pattern: Pattern?
  private let object: String
  /// Microseconds since 1970.
  private let since: UInt64?
  private let count: Int?
  private let directory: String?

  init(_ invocation: Invocation) throws(CommandError) {
    pattern = try Self.pattern(invocation)
    object = try invocation.object()
    since =
      if let text = invocation.text(.since) {
        try PastTime.parse(text, now: SystemClock.wallMicroseconds)
      } else {
        nil
      }
    count = invocation.number(.lines).map { Int(clamping: $0) }
    directory = invocation.text(.directory)
  }

  private static func pattern(_ invocation: Invocation) throws(CommandError) -> Pattern? {
    guard let text = try invocation.patterns().first else { return nil }
    do throws(WireError) {
      return try Pattern(text)
    } catch {
      throw .usage(error.message)
    }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let journal = try JournalReader(directory: directory)
    if let file = journal.forbidden.first, !context.isQuiet {
      context.terminal.report(
        "no permission to read some files of the journal, such as \(file.terminalSafe); members of the group "
          + "systemd-journal have it")
    }
    for id in LoggedVerdict.messageIDs { try journal.match("MESSAGE_ID", id) }
    if let pattern, pattern.isLiteral { try journal.match("TRIBUNE_NAME", pattern.text) }
    // The journal has the object in its escaped form.
    if !object.isEmpty { try journal.match("TRIBUNE_OBJECT", object.escaped) }
    let shown = try showMatches(in: journal, context)
    if shown == 0, context.json == .off, context.showsLegend { try context.print("No verdicts.") }
    return ExitStatus.success
  }

  /// - Returns: how many were shown.
  private func showMatches(
    in journal: borrowing JournalReader, _ context: Context
  ) throws(CommandError) -> Int {
    var shown = 0
    if let count {
      // Reads backwards, so that only the end of a long journal is read.
      try journal.seekToEnd()
      var found: [LoggedVerdict] = []
      while found.count < count, let entry = try journal.previous(), entry.time >= since ?? 0 {
        if let verdict = match(entry) { found.append(verdict) }
      }
      for verdict in found.reversed() { try context.write(verdict.text(in: context), or: verdict.json) }
      return found.count
    }
    if let since { try journal.seek(to: since) }
    while let entry = try journal.next() {
      guard let verdict = match(entry) else { continue }
      try context.write(verdict.text(in: context), or: verdict.json)
      shown += 1
    }
    return shown
  }

  private func match(_ entry: JournalReader.Entry) -> LoggedVerdict? {
    guard let verdict = LoggedVerdict(entry), NameSyntax.isName(verdict.name.utf8Bytes) else { return nil }
    guard let pattern else { return verdict }
    return pattern.matches(verdict.name.utf8Bytes) ? verdict : nil
  }
}
