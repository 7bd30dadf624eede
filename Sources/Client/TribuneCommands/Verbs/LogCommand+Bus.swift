// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// The verdicts of a bus that writes to no journal.
extension LogCommand {
  private static let pause = Duration.seconds(1)

  /// Empty without a bus, or if it writes to a journal.
  func keptByBus(in context: Context) async -> [JournalReader.Entry] {
    do throws(CommandError) {
      return try await read(in: context)
    } catch {
      return []
    }
  }

  private func read(in context: Context) async throws(CommandError) -> [JournalReader.Entry] {
    let verdicts = try await context.request { bus throws(TribuneError) in try await bus.pastVerdicts() }
    let now = SystemClock.wallMicroseconds
    return verdicts.map { verdict in
      let (seconds, attoseconds) = verdict.age.components
      let age = UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
      return JournalReader.Entry(time: now - min(age, now), fields: verdict.fields)
    }
  }

  func show(kept: [JournalReader.Entry], in context: Context) throws(CommandError) {
    let passing = kept.compactMap { filter.verdict(in: $0) }
    let verdicts = passing.suffix(count ?? passing.count)
    guard !summarizes else {
      var summary = VerdictSummary()
      for verdict in verdicts { summary.add(verdict) }
      return try summary.show(in: context)
    }
    for verdict in verdicts { try show(verdict, in: context) }
    if verdicts.isEmpty, count != 0, !follows { try sayNone(in: context) }
  }

  func follow(kept: [JournalReader.Entry], in context: Context) async -> CommandError {
    do throws(CommandError) {
      try show(kept: kept, in: context)
      context.reportReady("following the verdicts of the bus")
      var last = kept.last?.query ?? 0
      while true {
        await sleep(Self.pause)
        for entry in try await read(in: context) where entry.query > last {
          last = entry.query
          if let verdict = filter.verdict(in: entry) { try show(verdict, in: context) }
        }
      }
    } catch {
      return error
    }
  }
}

extension JournalReader.Entry {
  fileprivate var query: UInt64 { self["TRIBUNE_QUERY"].flatMap { UInt64($0) } ?? 0 }
}
