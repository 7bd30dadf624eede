// SPDX-License-Identifier: Apache-2.0

import TribuneWire

// Conversions from the wire to the public API. They clamp large numbers from the bus instead of trapping.

extension TribuneError {
  init(code rawCode: UInt16, message: String) {
    let code = ErrorCode(rawValue: rawCode)
    // For mistakes in definitions, the message has one line for each mistake.
    let words = code == .invalidProtocol || code == .conflict ? message.escapedByLine : message.escaped
    self.init(code.map(Code.init) ?? .refused, words.isEmpty ? "the bus gave no reason" : words)
  }

  init(wire error: WireError) { self.init(Code(error.code), error.message) }
}

extension String {
  fileprivate var escapedByLine: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0).escaped }.joined(
      separator: "\n")
  }
}

extension TribuneError.Code {
  init(_ code: ErrorCode) {
    self =
      switch code {
      case .badMagic, .frameTooLong, .malformedFrame, .unknownCriticalKind, .unexpectedDescriptors,
        .missingDescriptor, .afterLast:
        .protocolViolation
      case .unsupportedVersion: .unsupportedVersion
      case .helloTimeout, .frameTimeout, .tooSlow: .tooSlow
      case .tooManyConnections, .outOfMemory, .limitExceeded: .limitExceeded
      case .shuttingDown: .shuttingDown
      case .restarted: .connectionLost
      case .invalidName: .invalidName
      case .invalidPattern: .invalidPattern
      case .invalidObject: .invalidObject
      case .reservedName: .reservedName
      case .notFound, .notAsked: .notFound
      case .cancelled: .cancelled
      case .recursion: .recursion
      case .notPermitted: .notPermitted
      case .unknownProtocol: .unknownProtocol
      case .invalidProtocol: .invalidProtocol
      case .notConforming: .notConforming
      case .unknownName: .unknownName
      case .invalidParameter: .invalidParameter
      case .conflict: .conflict
      case .unknownKind, .invalidValue, .duplicateSerial, .invalidDescriptor: .refused
      }
  }
}

extension FailurePolicy {
  init(_ policy: TribuneWire.FailurePolicy) {
    self =
      switch policy {
      case .veto: .veto
      case .abstain: .abstain
      }
  }

  var wire: TribuneWire.FailurePolicy {
    switch self {
    case .veto: .veto
    case .abstain: .abstain
    }
  }
}

extension Mode {
  init?(_ mode: QueryMode) {
    switch mode {
    case .parallel: self = .parallel
    case .all: self = .all
    case .order: self = .order
    case .first, .collect: return nil
    }
  }

  var wire: QueryMode {
    switch self {
    case .parallel: .parallel
    case .all: .all
    case .order: .order
    }
  }
}

extension Verdict.Decision {
  init(_ verdict: VerdictKind) {
    self =
      switch verdict {
      case .allowed: .allowed
      case .vetoed: .vetoed
      }
  }

  var wire: VerdictKind {
    switch self {
    case .allowed: .allowed
    case .vetoed: .vetoed
    }
  }
}

extension Verdict {
  init(_ verdict: TribuneWire.Verdict) {
    self.init(
      Decision(verdict.verdict), query: verdict.query.rawValue, isUnanswered: verdict.isUnanswered,
      outcomes: verdict.outcomes.map(Outcome.init), omittedCount: Int(verdict.omittedCount),
      isOverridden: verdict.isOverridden, isDryRun: verdict.isDryRun, similarName: verdict.similarName)
  }
}

extension Outcome {
  init(_ outcome: TribuneWire.Outcome) {
    let peer = outcome.delegate.peer
    self.init(
      delegate: outcome.delegate.id.rawValue, label: outcome.delegate.label, kind: Kind(outcome.outcome),
      reason: outcome.reason, pid: Int32(clamping: peer.pid), uid: peer.uid, process: peer.process,
      units: Units(peer.units), elapsed: .microseconds(Int64(clamping: outcome.elapsed)),
      value: outcome.outcome == .answered ? UserInfo(outcome.value) : nil)
  }
}

extension Outcome.Kind {
  init(_ outcome: OutcomeKind) {
    self =
      switch outcome {
      case .approved: .approved
      case .vetoed: .vetoed
      case .abstained: .abstained
      case .timedOut: .timedOut
      case .gone: .gone
      case .failed: .failed
      case .held: .held
      case .answered: .answered
      }
  }
}

extension Progress {
  init(_ progress: TribuneWire.Progress, status: String) {
    let peer = progress.delegate.peer
    self.init(
      query: progress.query.rawValue, delegate: progress.delegate.id.rawValue, label: progress.delegate.label,
      status: status, timeout: .milliseconds(Int(progress.timeout)), pid: Int32(clamping: peer.pid),
      uid: peer.uid, process: peer.process, units: Units(peer.units), stage: Stage(progress))
  }
}

extension Progress.Stage {
  fileprivate init(_ progress: TribuneWire.Progress) {
    self =
      switch progress.stage {
      case .asked: .asked
      case .deferred: .deferred
      case .settled: .settled(.init(progress.outcome))
      }
  }
}

extension Asker {
  init(_ peer: PeerIdentity, connection: ConnectionID) {
    self.init(
      pid: Int32(clamping: peer.pid), uid: peer.uid, process: peer.process, units: Units(peer.units),
      connection: connection.description)
  }
}

extension Answer {
  init(_ answer: AnswerKind, payload: [UInt8]) {
    let text = String(decoding: payload, as: UTF8.self)
    self =
      switch answer {
      case .approve: .approve
      case .veto: .veto(text)
      case .abstain: .abstain
      case .failed: .failed(text)
      case .value: .value(UserInfo(payload))
      }
  }
}

extension Conclusion.Ending {
  init(_ conclusion: ConclusionKind) {
    self =
      switch conclusion {
      case .allowed: .allowed
      case .vetoed: .vetoed
      case .cancelled: .cancelled
      }
  }
}
