// SPDX-License-Identifier: Apache-2.0

/// How a query is put to the delegate chain.
package enum QueryMode: UInt8, Sendable, CaseIterable {
  /// All delegates are asked at once; the first veto is the verdict.
  case parallel = 0
  /// All delegates are asked at once, and all answers are awaited.
  case all = 1
  /// One delegate is asked at a time, until one vetoes.
  case order = 2
  /// One delegate is asked at a time, until one has a value.
  case first = 3
  /// All delegates are asked at once, and each may have a value.
  case collect = 4

  /// Whether the query is for values, not for permission.
  package var isForValues: Bool {
    switch self {
    case .first, .collect: true
    case .parallel, .all, .order: false
    }
  }
  /// Whether one delegate is asked at a time.
  package var isSequential: Bool {
    switch self {
    case .order, .first: true
    case .parallel, .all, .collect: false
    }
  }
}

package enum VerdictKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
}

/// A delegate's answer.
package enum AnswerKind: UInt8, Sendable, CaseIterable {
  case approve = 0
  case veto = 1
  case abstain = 2
  case failed = 3
  /// The payload is a value, as a data source returns it.
  case value = 4
}

/// The outcome of one delegate. `held` is for holds, `answered` for values.
package enum OutcomeKind: UInt8, Sendable, CaseIterable {
  case approved = 0
  case vetoed = 1
  case abstained = 2
  case timedOut = 3
  case gone = 4
  case failed = 5
  case held = 6
  case answered = 7
}

/// How a query ended, for the delegates that were asked.
package enum ConclusionKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
  /// The asker cancelled the query, or is gone.
  case cancelled = 2
}

/// Options of a query.
package struct QueryFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Cheaper than an empty literal, as `FrameFlags.none` is.
  package static var none: QueryFlags { QueryFlags(rawValue: 0) }
  /// The query decides nothing, and the question says so to the delegates.
  package static let isDryRun = QueryFlags(rawValue: 0x01)
  /// The asker overrides vetoes, and gives a reason.
  package static let overrides = QueryFlags(rawValue: 0x02)
  /// The asker also wants `progress` when a delegate is asked, and when its outcome is known.
  package static let wantsProgress = QueryFlags(rawValue: 0x04)

  package static let known: QueryFlags = [.isDryRun, .overrides, .wantsProgress]

  /// As in `FrameFlags`, and for the same reason.
  @inlinable package func contains(_ member: QueryFlags) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// A query. Name, object and userInfo are the frame's tail.
package struct Ask: FrameFields {
  package static let kind = FrameKind.ask
  /// The offset of the deadline in the fields.
  static let deadlineOffset = 0

  /// Milliseconds until there must be a verdict; 0 selects the bus's default.
  package var deadline: UInt32
  package var mode: QueryMode
  /// The verdict if no delegate approves or vetoes.
  package var fallback: VerdictKind
  /// The query that the asker is answering itself meanwhile; 0 if none.
  package var parent: UInt64
  package var flags: QueryFlags
  /// The reason for overriding vetoes; empty without an override.
  package var overrideReason: String

  /// Whether all answers are awaited. Otherwise a veto, or a value in a mode for values, ends the query.
  package var waitsForAll: Bool {
    switch mode {
    case .all, .collect: true
    case .parallel, .order, .first: flags.contains(.overrides)
    }
  }

  package init(
    deadline: UInt32 = 0, mode: QueryMode = .parallel, fallback: VerdictKind = .allowed, parent: UInt64 = 0,
    flags: QueryFlags = [], overrideReason: String = ""
  ) {
    self.deadline = deadline
    self.mode = mode
    self.fallback = fallback
    self.parent = parent
    self.flags = flags
    self.overrideReason = overrideReason
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    deadline = try reader.integer()
    mode = try reader.value()
    fallback = try reader.value()
    parent = try reader.integer()
    flags = QueryFlags(rawValue: try reader.integer())
    overrideReason = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(deadline)
    buffer.append(mode.rawValue)
    buffer.append(fallback.rawValue)
    buffer.append(parent)
    buffer.append(flags.rawValue)
    buffer.appendField(overrideReason)
  }
}

/// A query as it is put to one delegate. The frame's sender is the asker, its serial is that of the `attach`, and its
/// tail is that of the `ask`.
package struct Question: FrameFields {
  package static let kind = FrameKind.question

  package var query: QueryID
  package var delegate: DelegateID
  /// Milliseconds until the delegate times out.
  package var timeout: UInt32
  package var asker: PeerIdentity
  package var isDryRun: Bool
  /// Whether a value is wanted, not permission.
  package var wantsValue: Bool

  package init(
    query: QueryID, delegate: DelegateID, timeout: UInt32, asker: PeerIdentity, isDryRun: Bool = false,
    wantsValue: Bool = false
  ) {
    self.query = query
    self.delegate = delegate
    self.timeout = timeout
    self.asker = asker
    self.isDryRun = isDryRun
    self.wantsValue = wantsValue
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = DelegateID(rawValue: try reader.integer())
    timeout = try reader.integer()
    asker = try PeerIdentity(from: &reader)
    isDryRun = try reader.flag()
    wantsValue = try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(timeout)
    asker.append(to: buffer)
    buffer.append(isDryRun)
    buffer.append(wantsValue)
  }
}

/// A delegate's answer to a question. The payload is the reason for a veto, the error of a failure, or the value.
package struct Answer: FrameFields {
  package static let kind = FrameKind.answer

  package var query: QueryID
  package var delegate: DelegateID
  package var answer: AnswerKind

  package init(query: QueryID, delegate: DelegateID, answer: AnswerKind) {
    self.query = query
    self.delegate = delegate
    self.answer = answer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = DelegateID(rawValue: try reader.integer())
    answer = try reader.value()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(answer.rawValue)
  }
}

/// Requests more time for an answer. The payload is a status text for the asker.
///
/// Any connection of the delegate's user may send it, on behalf of a process that works for the delegate.
package struct Defer: FrameFields {
  package static let kind = FrameKind.defer

  package var query: QueryID
  /// 0 selects the only pending delegate of the sender's user.
  package var delegate: DelegateID
  /// Milliseconds from now.
  package var extensionTime: UInt32

  package init(query: QueryID, delegate: DelegateID, extension milliseconds: UInt32) {
    self.query = query
    self.delegate = delegate
    extensionTime = milliseconds
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = DelegateID(rawValue: try reader.integer())
    extensionTime = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(extensionTime)
  }
}

/// The stage of a query with one delegate.
package enum ProgressStage: UInt8, Sendable, CaseIterable {
  case deferred = 0
  case asked = 1
  case settled = 2
}

/// Progress of a query with one delegate: the delegate has deferred; or, if the asker wants progress, it was asked or
/// its outcome is known. The serial is that of the `ask`; the payload is the delegate's text.
package struct Progress: FrameFields {
  package static let kind = FrameKind.progress

  package var query: QueryID
  package var delegate: DelegateIdentity
  /// Milliseconds that the delegate now has.
  package var timeout: UInt32
  package var stage: ProgressStage
  /// The outcome, if it has settled; else meaningless.
  package var outcome: OutcomeKind

  package init(
    query: QueryID, delegate: DelegateIdentity, timeout: UInt32, stage: ProgressStage = .deferred,
    outcome: OutcomeKind = .approved
  ) {
    self.query = query
    self.delegate = delegate
    self.timeout = timeout
    self.stage = stage
    self.outcome = outcome
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = try DelegateIdentity(from: &reader)
    timeout = try reader.integer()
    stage = try reader.value()
    outcome = try reader.value()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    delegate.append(to: buffer)
    buffer.append(timeout)
    buffer.append(stage.rawValue)
    buffer.append(outcome.rawValue)
  }
}

/// The outcome of one delegate, in a verdict.
package struct Outcome: Equatable, Sendable {
  package var delegate: DelegateIdentity
  package var outcome: OutcomeKind
  /// The reason or the error; empty if none was given.
  package var reason: String
  /// Microseconds from the question to the outcome.
  package var elapsed: UInt64
  /// The value, if the outcome is `answered`.
  package var value: [UInt8]

  package init(
    delegate: DelegateIdentity, outcome: OutcomeKind, reason: String, elapsed: UInt64, value: [UInt8] = []
  ) {
    self.delegate = delegate
    self.outcome = outcome
    self.reason = reason
    self.elapsed = elapsed
    self.value = value
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    delegate = try DelegateIdentity(from: &reader)
    outcome = try reader.value()
    reason = try reader.text()
    elapsed = try reader.integer()
    value = try reader.byteArray()
  }

  package func append(to buffer: ByteBuffer) {
    delegate.append(to: buffer)
    buffer.append(outcome.rawValue)
    buffer.appendField(reason)
    buffer.append(elapsed)
    buffer.appendBytesField(value)
  }
}

/// The result of a query. The serial is that of the `ask`.
package struct Verdict: FrameFields {
  package static let kind = FrameKind.verdict

  package var query: QueryID
  package var verdict: VerdictKind
  /// Whether no delegate approved or vetoed. The verdict is then the asker's own default.
  package var isUnanswered: Bool
  /// The outcomes, one for each delegate that has one, in the chain's order, as far as the bus lists them.
  package var outcomes: [Outcome]
  /// Whether there were vetoes that the asker overrode.
  package var isOverridden: Bool
  package var isDryRun: Bool
  /// Further outcomes, which are not listed.
  package var omittedCount: Int

  package init(
    query: QueryID, verdict: VerdictKind, isUnanswered: Bool, outcomes: [Outcome],
    isOverridden: Bool = false, isDryRun: Bool = false, omittedCount: Int = 0
  ) {
    self.query = query
    self.verdict = verdict
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
    self.isOverridden = isOverridden
    self.isDryRun = isDryRun
    self.omittedCount = omittedCount
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    verdict = try reader.value()
    isUnanswered = try reader.flag()
    let count = Int(try reader.integer(UInt32.self))
    outcomes = []
    for _ in 0..<count {
      var record = try reader.record()
      outcomes.append(try Outcome(from: &record))
    }
    isOverridden = try reader.flag()
    isDryRun = try reader.flag()
    // Version 0.1.0 writes none.
    omittedCount = reader.isAtEnd ? 0 : Int(try reader.integer(UInt32.self))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(verdict.rawValue)
    buffer.append(isUnanswered)
    buffer.append(UInt32(outcomes.count))
    // A span lends its elements; an array would copy them.
    let outcomes = outcomes.span
    for index in outcomes.indices {
      buffer.appendRecord { buffer in outcomes[index].append(to: buffer) }
    }
    buffer.append(isOverridden)
    buffer.append(isDryRun)
    buffer.append(UInt32(omittedCount))
  }
}

/// The end of a query in which this delegate was asked. The serial is that of the `attach`.
package struct Concluded: FrameFields {
  package static let kind = FrameKind.concluded

  package var query: QueryID
  package var delegate: DelegateID
  package var conclusion: ConclusionKind

  package init(query: QueryID, delegate: DelegateID, conclusion: ConclusionKind) {
    self.query = query
    self.delegate = delegate
    self.conclusion = conclusion
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = DelegateID(rawValue: try reader.integer())
    conclusion = try reader.value()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(conclusion.rawValue)
  }
}
