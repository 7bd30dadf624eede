// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// The verdicts of a bus that does not write to a journal.
extension LogCommand {
  private static let pause = Duration.seconds(1)
  /// Limits the wait for the bus, because users must be able to read the journal even if the bus hangs.
  private static let patience = Duration.seconds(2)

  /// The verdicts that the bus keeps itself; nil without a bus, or if the bus writes to a journal.
  func keptByBus(in context: Context) async -> [PastVerdict]? {
    do throws(TribuneError) {
      return try await bounded(by: Self.patience) { () async throws(TribuneError) -> [PastVerdict] in
        try await context.connect(within: Self.patience).pastVerdicts()
      }
    } catch {
      return nil
    }
  }

  func show(kept: [PastVerdict], in context: Context) throws(CommandError) {
    let passing = kept.compactMap { filter.verdict(in: JournalReader.Entry($0)) }
    let verdicts = passing.suffix(count ?? passing.count)
    guard !summarizes else {
      var summary = VerdictSummary()
      for verdict in verdicts { summary.add(verdict) }
      return try summary.show(in: context)
    }
    for verdict in verdicts { try show(verdict, in: context) }
    if verdicts.isEmpty, count != 0, !follows { try sayNone(in: context) }
  }

  func follow(kept: [PastVerdict], in context: Context) async -> CommandError {
    do throws(CommandError) {
      try show(kept: kept, in: context)
      context.reportReady("following the verdicts of the bus")
      return try await followFurther(behind: kept.last?.number ?? 0, in: context)
    } catch {
      return error
    }
  }

  private func followFurther(
    behind last: UInt64, in context: Context
  ) async throws(CommandError) -> CommandError {
    var last = last
    do throws(TribuneError) {
      let bus = try await context.connect()
      while !Task.isCancelled {
        await sleep(Self.pause)
        let verdicts = try await bus.pastVerdicts()
        // A restarted daemon counts from 1 again.
        if verdicts.last?.number ?? 0 < last { last = 0 }
        for verdict in verdicts where verdict.number > last {
          last = verdict.number
          let shown = filter.verdict(in: JournalReader.Entry(verdict))
          do throws(CommandError) { if let shown { try show(shown, in: context) } } catch { return error }
        }
      }
      return .ended(ExitStatus.success)
    } catch {
      throw CommandError(error)
    }
  }
}

extension JournalReader.Entry {
  fileprivate init(_ verdict: PastVerdict) {
    let (seconds, attoseconds) = verdict.age.components
    let age = UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    let now = SystemClock.wallMicroseconds
    self.init(time: now - min(age, now), fields: verdict.fields, isOfBus: true)
  }
}
