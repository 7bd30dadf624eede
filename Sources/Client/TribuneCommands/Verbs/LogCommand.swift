// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

struct LogCommand: Command {
  /// Without --follow, a signal has its default effect and ends the command at once.
  var signals: [Int32] { follows ? SignalWatch.interrupting : [] }

  let filter: VerdictFilter
  /// The number of verdicts to show; nil for all.
  let count: Int?
  private let directory: String?
  let follows: Bool
  let summarizes: Bool

  /// How many old verdicts --follow shows first, as in journalctl(1).
  private static let followedCount = 10
  private static let namedUnitsMax = 20

  init(_ invocation: Invocation) throws(CommandError) {
    filter = try VerdictFilter(invocation)
    follows = invocation.has(.follow)
    summarizes = invocation.has(.summary)
    if follows { try invocation.refuse([.summary, .until], beside: .follow) }
    count =
      invocation.number(.lines).map { Int(clamping: $0) }
      ?? (follows && !invocation.has(.since) ? Self.followedCount : nil)
    directory = invocation.text(.directory)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    guard follows else {
      if directory == nil, let kept = await keptByBus(in: context) {
        try show(kept: kept, in: context)
      } else {
        try show(in: context)
      }
      return ExitStatus.success
    }
    let end = await first(
      of: { () async -> CommandError in
        if directory == nil, let kept = await keptByBus(in: context) {
          return await follow(kept: kept, in: context)
        }
        // libsystemd's wait blocks its thread, and only one thread may use a journal.
        return await Thread.result { follow(in: context) }
      },
      { () async -> CommandError in
        await context.signals.interruption()
        return .ended(ExitStatus.success)
      })
    throw end ?? .ended(ExitStatus.success)
  }

  private func open(in context: Context) throws(CommandError) -> JournalReader {
    let journal = try JournalReader(directory: directory)
    if let file = journal.forbidden.first, !context.isQuiet {
      context.terminal.report(
        "no permission to read some files of the journal, such as \(file.terminalSafe); members of the group "
          + "systemd-journal have it")
    }
    try filter.restrict(journal)
    return journal
  }

  private func show(in context: Context) throws(CommandError) {
    let journal = try open(in: context)
    var summary = VerdictSummary()
    var shown = 0
    var next = try firstEntry(in: journal)
    while let entry = next, entry.time <= filter.times.upperBound {
      if let verdict = filter.verdict(in: entry) {
        shown += 1
        if summarizes { summary.add(verdict) } else { try show(verdict, in: context) }
      }
      next = try journal.next()
    }
    if summarizes { try summary.show(in: context) }
    let missing = try MissingEntries.count(in: filter.times, of: directory)
    if missing > 0, !context.isQuiet {
      context.terminal.report(
        "\(missing.counted("entry of the bus is", "entries of the bus are")) missing from the journal, which did not "
          + "keep up, or suppressed them (RateLimitBurst= in journald.conf(5)): verdicts may be missing")
    }
    guard shown == 0, count != 0, !context.writesValues, context.showsLegend else { return }
    if !summarizes { try sayNone(in: context) }
    if filter.unit != nil { try showUnits(in: journal, context) }
  }

  func sayNone(in context: Context) throws(CommandError) {
    if !context.writesValues, context.showsLegend { try context.print("No verdicts.") }
  }

  func show(_ verdict: LoggedVerdict, in context: Context) throws(CommandError) {
    try context.write(verdict.text(in: context), or: verdict.json)
  }

  private func firstEntry(in journal: borrowing JournalReader) throws(CommandError) -> JournalReader.Entry? {
    let times = filter.times
    if let count {
      try journal.seek(before: times.upperBound)
      var left = count
      while let entry = try journal.previous(), entry.time >= times.lowerBound {
        if count == 0 { return try journal.next() }
        guard filter.verdict(in: entry) != nil else { continue }
        left -= 1
        if left == 0 { return entry }
      }
    }
    try journal.seek(to: times.lowerBound)
    return try journal.next()
  }

  private func follow(in context: Context) -> CommandError {
    do throws(CommandError) {
      let journal = try open(in: context)
      var next = try firstEntry(in: journal)
      var isReady = false
      while true {
        while let entry = next {
          if let verdict = filter.verdict(in: entry) { try show(verdict, in: context) }
          next = try journal.next()
        }
        if !isReady { context.reportReady("following the journal", usesBus: false) }
        isReady = true
        try journal.wait()
        next = try journal.next()
      }
    } catch {
      return error
    }
  }

  /// Suggests units for --by: at most `namedUnitsMax` that have vetoed, at any time and under any name.
  private func showUnits(in journal: borrowing JournalReader, _ context: Context) throws(CommandError) {
    let units = try journal.values(of: "TRIBUNE_VETOED_BY_SYSTEM_UNIT", upTo: Self.namedUnitsMax + 1)
    guard !units.isEmpty else { return try context.print("The journal has no veto by a unit.") }
    let named = units.prefix(Self.namedUnitsMax).sorted().map { "  \($0.terminalSafe)" }
    let rest = units.count > named.count ? ["  and others"] : []
    try context.print((["The journal has vetoes by these units:"] + named + rest).joined(separator: "\n"))
  }
}
