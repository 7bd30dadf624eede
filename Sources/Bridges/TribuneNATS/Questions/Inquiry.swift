// SPDX-License-Identifier: Apache-2.0

import Tribune

/// The rule for a host that does not answer.
nonisolated package enum MissingHost: Equatable, Sendable, CaseIterable {
  case veto
  case abstain
  /// The host is not in the roster. Its answers count. If it does not answer, this counts as abstaining.
  case unlisted
}

/// A question to one host: a state machine without I/O. The first conclusion is final. Only replies can
/// approve.
nonisolated struct Inquiry {
  enum Action: Equatable, Sendable {
    case none
    case askAgain(after: Duration)
    case extend(Duration, status: String)
    /// The caller must extend the delegate's time by this duration, and check if the NATS server responds.
    case prove(within: Duration)
    case conclude(Answer)
  }

  /// The gateway asks again after this pause, because a NATS server may not know a new gateway yet.
  static let retryPause = Duration.milliseconds(400)
  static let triesMax = 3
  /// How long before the delegate's timeout the inquiry gives up.
  static let margin = Duration.milliseconds(250)
  /// How long the asked host's gateway waits for its bus. If that bus does not answer, the gateway can report
  /// this failure before the inquiry is due.
  static func patience(within timeout: Duration) -> Duration { max(timeout - margin * 2, timeout / 4) }
  static let proofMax = Duration.seconds(3)
  static let extensionsMax = 1_000

  private let host: String
  private let missing: MissingHost
  private var tries = 1
  private var extensions = 0
  private var isConcluded = false
  private var isProving = false
  private var hasReplied = false
  private(set) var absence: String?
  private(set) var due: ContinuousClock.Instant

  init(
    _ host: String, missing: MissingHost, timeout: Duration, at now: ContinuousClock.Instant
  ) {
    self.host = host
    self.missing = missing
    due = now + max(timeout - Self.margin, timeout / 2)
  }

  mutating func reply(
    _ reply: ReplyEnvelope, payload: [UInt8], at now: ContinuousClock.Instant
  ) -> Action {
    guard !isConcluded else { return .none }
    hasReplied = true
    switch reply {
    case .progress(let timeout, let status):
      guard extensions < Self.extensionsMax else { return .none }
      extensions += 1
      due = max(due, now + timeout)
      return .extend(timeout + Self.margin * 4, status: status)
    case .failed(let reason) where missing == .unlisted: return conclude(absent(reason))
    default: return conclude(reply.answer(of: host, payload))
    }
  }

  /// - Parameter mayReturn: true if the host's gateway may be reconnecting. With `abstain`, this gateway then
  ///   asks again even after `triesMax` tries, because the host may have a veto.
  mutating func isUnheard(mayReturn: Bool) -> Action {
    guard !isConcluded else { return .none }
    if missing != .unlisted, tries < Self.triesMax || missing == .abstain && mayReturn {
      tries += 1
      return .askAgain(after: Self.retryPause)
    }
    return conclude(absent("no gateway of \(host) is connected to NATS"))
  }

  mutating func isDue(at now: ContinuousClock.Instant) -> Action {
    guard !isConcluded, now >= due else { return .none }
    guard missing != .veto else { return conclude(absent("\(host) did not answer")) }
    // Before a missing host abstains, the gateway tests NATS: a lost link could have lost the host's veto.
    guard !isProving else { return cutOff("no answer from NATS, nor from \(host)") }
    isProving = true
    due = now + Self.proofMax
    return .prove(within: Self.proofMax + Self.margin)
  }

  /// - Parameter isThere: true if the server responds. By then, this gateway has had time to handle all
  ///   messages that NATS sent before, and so any answer of the asked host.
  mutating func isProven(_ isThere: Bool) -> Action {
    guard !isConcluded else { return .none }
    return isThere
      ? conclude(absent("\(host) did not answer")) : cutOff("no answer from NATS, nor from \(host)")
  }

  /// Concludes with a veto, because a message about the question may have been lost.
  mutating func isCutOff(_ why: String) -> Action { isConcluded ? .none : cutOff(why) }

  var isMute: Bool { missing == .unlisted && !hasReplied }

  private mutating func cutOff(_ why: String) -> Action {
    absence = why
    return conclude(.veto("cluster unreachable: \(why)"))
  }

  private mutating func conclude(_ answer: Answer) -> Action {
    isConcluded = true
    return .conclude(answer)
  }

  private mutating func absent(_ why: String) -> Answer {
    absence = why
    switch missing {
    case .veto: return .failed(why)
    case .abstain, .unlisted: return .abstain
    }
  }
}

nonisolated extension ReplyEnvelope {
  func answer(of host: String, _ payload: [UInt8]) -> Answer {
    switch self {
    case .approve: .approve
    case .veto(let reason): .veto(reason.isEmpty ? "\(host) vetoes" : reason)
    case .failed(let reason): .failed(reason.isEmpty ? "\(host) failed" : reason)
    case .value: .value(UserInfo(payload))
    case .abstain: .abstain
    case .progress: preconditionFailure("progress is no answer")
    }
  }
}
