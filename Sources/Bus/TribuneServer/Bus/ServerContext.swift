// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The state that all parts of the server share: the core, the sessions, configuration, time, timeouts,
/// counters, and the `Log` of messages.
final class ServerContext {
  private let core: Cell<Bus>
  /// This reference does not retain the core, so the context must outlive all copies of the reference.
  let bus: Cell<Bus>.Reference
  let sessions: SessionTable
  let log: Log
  var configuration: Configuration
  private(set) var now: Instant
  let timeouts = Cell(Timeouts())
  let statistics = Cell(Statistics())
  private let budgets: [UserLines: UserLineBudgets] = [
    .denials: UserLineBudgets(linesPerSecond: 5), .verdicts: UserLineBudgets(linesPerSecond: 200),
    .losses: UserLineBudgets(linesPerSecond: 5), .expiries: UserLineBudgets(linesPerSecond: 5),
  ]
  private var willLogOmitted = false

  enum UserLines: String, CaseIterable {
    case denials = "refusals"
    case verdicts
    case losses = "lossy observers"
    case expiries = "expired holds"
  }

  init(_ configuration: Configuration, _ accounts: Accounts, log: Log) {
    core = Cell(Bus(configuration, accounts))
    bus = unsafe core.reference
    sessions = SessionTable(accounts)
    self.configuration = configuration
    self.log = log
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
  }

  func readClock() { now = Instant(nanoseconds: SystemClock.monotonicNanoseconds) }

  /// Returns false if the user's budget for `lines` is spent. `weight` is how many lines to take from it.
  func mayLog(_ lines: UserLines, about user: UInt32, weight: @autoclosure () -> Int = 1) -> Bool {
    guard budgets[lines]?.take(weight: weight(), for: user, at: now) == false else { return true }
    if !willLogOmitted {
      willLogOmitted = true
      schedule(.log, .mainQueue, afterNanoseconds: LineBudget.periodNanoseconds)
    }
    return false
  }

  func logOmitted() {
    willLogOmitted = false
    for lines in UserLines.allCases {
      for (user, count) in budgets[lines]?.takeOmitted() ?? [] {
        let message = "user \(user): \(count.counted("more line")) about \(lines.rawValue) omitted"
        if lines == .verdicts {
          log.notice(
            message, ["MESSAGE_ID": VerdictEntry.omittedMessageID, "TRIBUNE_DROPPED": "\(count)"])
        } else {
          log.notice(message, ["TRIBUNE_DROPPED": "\(count)"])
        }
      }
    }
  }

  func schedule(_ kind: Timeouts.Kind, _ token: WatchToken, afterNanoseconds delay: UInt64) {
    timeouts.value.insert(kind, token, due: now.advanced(byNanoseconds: delay))
  }
}
