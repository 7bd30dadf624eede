// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON

/// Notes when vetoers leave: delegates, and holds that mirror a logind lock. Each vetoer gets time to return,
/// because perhaps its service is only being restarted.
final class Departures: Sendable {
  typealias Instant = ContinuousClock.Instant

  struct Vetoer: Hashable, Sendable {
    var id: UInt64
    var isHold = false
  }

  private let span: Duration
  /// When each vetoer left; nil while it is present.
  private let departures = Mutex<[Vetoer: Instant?]>([:])

  init(returningWithin span: Duration = BusPresence.settling) { self.span = span }

  func leaves(_ vetoer: Vetoer, at now: Instant) {
    departures.withLock { departures in
      if case .some(nil) = departures[vetoer] { departures[vetoer] = .some(now) }
    }
  }

  /// Takes a verdict. If the verdict allows the action, a known vetoer without an outcome counts as having
  /// left when the question was asked.
  ///
  /// - Parameter start: when the question was asked.
  func take(_ verdict: Verdict, askedAt start: Instant, at now: Instant) {
    departures.withLock { departures in
      departures = departures.filter { $0.value.map { $0 + span > start } ?? true }
      let present = Set(verdict.outcomes.map { Vetoer($0) })
      for outcome in verdict.outcomes where outcome.delegate != 0 {
        if outcome.mayReturn {
          departures[Vetoer(outcome)] = .some(outcome.kind == .gone ? now : nil)
        } else {
          departures[Vetoer(outcome)] = nil
        }
      }
      guard verdict.isAllowed else { return }
      for (vetoer, departure) in departures where departure == nil && !present.contains(vetoer) {
        departures[vetoer] = .some(start)
      }
    }
  }

  /// When all departed vetoers have had time to return; nil if none has left.
  var end: Instant? {
    departures.withLock { $0.values.compactMap(\.self).max().map { $0 + span } }
  }
}

extension Departures.Vetoer {
  fileprivate init(_ outcome: Outcome) { self.init(id: outcome.delegate, isHold: outcome.kind == .held) }

  /// Nil unless the notification announces that a hold or delegate has left.
  init?(leavingIn news: Tribune.Notification) {
    let isHold = news.name == "tribune.hold.didRelease"
    guard isHold || news.name == "tribune.delegate.didDetach",
      let id = news.userInfo.jsonRoot?[isHold ? "hold" : "delegate"]?.integer, id > 0
    else { return nil }
    self.init(id: UInt64(id), isHold: isHold)
  }
}

extension Outcome {
  fileprivate var mayReturn: Bool {
    switch kind {
    case .vetoed, .failed, .timedOut, .gone: true
    case .held: label.hasPrefix("logind:")
    case .approved, .abstained, .answered: false
    }
  }
}
