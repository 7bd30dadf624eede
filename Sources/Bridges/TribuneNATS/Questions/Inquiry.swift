// SPDX-License-Identifier: Apache-2.0

import Tribune

/// What a host that does not answer counts as.
nonisolated package enum MissingHost: Equatable, Sendable, CaseIterable {
  case veto
  case abstain
  /// The roster does not have it, so nobody relies on it: it counts while it is there, and has something to say.
  case unlisted
}

/// A question to one host, until there is an answer: a state machine without I/O. Time is what its methods are told.
///
/// There is one answer, and nothing that comes later changes it. Nothing but a reply of the host itself approves.
nonisolated struct Inquiry {
  enum Action: Equatable, Sendable {
    case none
    case askAgain(after: Duration)
    case extend(Duration, status: String)
    /// Find out whether the server of NATS is there. The bus has to give this much time for that.
    case prove(within: Duration)
    case conclude(Answer)
  }

  /// A server of NATS may not know yet of a gateway that has just connected to another one.
  static let retryPause = Duration.milliseconds(400)
  static let triesMax = 3
  /// What remains of the bus's time when a silent host is given up.
  static let margin = Duration.milliseconds(250)
  /// How long the server of NATS may take to say that it is there.
  static let proofMax = Duration.seconds(3)
  /// A delegate that asks for more time again and again is believed so often.
  static let extensionsMax = 1_000

  private let host: String
  private let missing: MissingHost
  private var tries = 1
  private var extensions = 0
  private var isConcluded = false
  private var isProving = false
  private var hasReplied = false
  /// Why it was not heard; nil if it was.
  private(set) var absence: String?
  /// The time at which the host counts as missing.
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

  /// The server of NATS says that the host has no gateway.
  mutating func isUnheard() -> Action {
    guard !isConcluded else { return .none }
    if missing != .unlisted, tries < Self.triesMax {
      tries += 1
      return .askAgain(after: Self.retryPause)
    }
    return conclude(absent("no gateway of \(host) is connected to NATS"))
  }

  /// `due` may have passed.
  mutating func isDue(at now: ContinuousClock.Instant) -> Action {
    guard !isConcluded, now >= due else { return .none }
    guard missing != .veto else { return conclude(absent("\(host) did not answer")) }
    // A veto may be lost with the link, and nobody knows yet.
    guard !isProving else { return cutOff("no answer from NATS, nor from \(host)") }
    isProving = true
    due = now + Self.proofMax
    return .prove(within: Self.proofMax + Self.margin)
  }

  /// The server of NATS has answered, or has not, what was sent when the host was due. What it had before of the host has come.
  mutating func isProven(_ isThere: Bool) -> Action {
    guard !isConcluded else { return .none }
    return isThere
      ? conclude(absent("\(host) did not answer")) : cutOff("no answer from NATS, nor from \(host)")
  }

  /// Something is lost, or was never sent, that may be about this question.
  mutating func isCutOff(_ why: String) -> Action { isConcluded ? .none : cutOff(why) }

  /// Whether it is one that nobody relies on, and has not said a word.
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
