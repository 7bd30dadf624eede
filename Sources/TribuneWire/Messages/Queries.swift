// SPDX-License-Identifier: Apache-2.0

/// How a query goes through the chain.
package enum QueryMode: UInt8, Sendable, CaseIterable {
  /// All are asked at once; the first veto is the verdict.
  case parallel = 0
  /// All are asked at once and all are waited for.
  case all = 1
  /// One is asked at a time; none after a veto.
  case order = 2
  /// One is asked at a time, until one has a value.
  case first = 3
  /// All are asked at once, and each may have a value.
  case collect = 4

  /// Whether values are wanted, not leave.
  package var isForValues: Bool { self == .first || self == .collect }
  /// Whether one is asked at a time.
  package var isSequential: Bool { self == .order || self == .first }
}

package enum VerdictKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
}

/// What a delegate says.
package enum AnswerKind: UInt8, Sendable, CaseIterable {
  case approve = 0
  case veto = 1
  case abstain = 2
  case failed = 3
  /// The payload is a value: what a data source says.
  case value = 4
}

/// What came of one delegate. `held` is for standing vetoes, `answered` for values.
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

/// How a query ended, for those who were asked.
package enum ConclusionKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
  /// The asker took it back, or is gone.
  case cancelled = 2
}

/// What is different about a query.
package struct QueryFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Cheaper than an empty literal, as `FrameFlags.none` is.
  package static var none: QueryFlags { QueryFlags(rawValue: 0) }
  /// Nothing will come of it, and the delegates are told so.
  package static let isDryRun = QueryFlags(rawValue: 0x01)
  /// Vetoes do not keep the asker: it gives a reason.
  package static let overrides = QueryFlags(rawValue: 0x02)
  /// The asker wants `progress` for each delegate that is asked and that settles, too.
  package static let tellsProgress = QueryFlags(rawValue: 0x04)

  package static let known: QueryFlags = [.isDryRun, .overrides, .tellsProgress]
}

/// A query. Name, object and userInfo are the frame's tail.
package struct Ask: FrameFields {
  package static let kind = FrameKind.ask

  /// Milliseconds until there must be a verdict; 0 is the bus's own setting.
  package var deadline: UInt32
  package var mode: QueryMode
  /// The verdict when nobody says anything.
  package var fallback: VerdictKind
  /// The query that the asker is answering meanwhile; 0 if none.
  package var parent: UInt64
  package var flags: QueryFlags
  /// Why vetoes are overridden; empty unless they are.
  package var overrideReason: String

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

/// A query, as it is put to one delegate. The frame's sender is the asker, its serial that of the
/// `attach`, its tail that of the `ask`.
package struct Question: FrameFields {
  package static let kind = FrameKind.question

  package var query: QueryID
  package var delegate: DelegateID
  /// Milliseconds that the delegate has.
  package var timeout: UInt32
  package var asker: PeerIdentity
  package var isDryRun: Bool
  /// A value is wanted, not leave.
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

/// What a delegate says to a question. The payload is the reason for a veto, the error for a failure, the
/// value for a value.
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

/// "I am at it": asks for more time. The payload is what to tell the asker.
///
/// Any connection of the delegate's user may send it, for what runs under the delegate.
package struct Defer: FrameFields {
  package static let kind = FrameKind.defer

  package var query: QueryID
  /// 0 for the one delegate of the sender's user that is waited for.
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

/// Where a query is with one delegate.
package enum ProgressStage: UInt8, Sendable, CaseIterable {
  case deferred = 0
  case asked = 1
  case settled = 2
}

/// How a query goes on with one delegate: it has deferred, and where the asker wants to know, it was asked,
/// or something came of it. The serial is that of the `ask`, the payload what the delegate says.
package struct Progress: FrameFields {
  package static let kind = FrameKind.progress

  package var query: QueryID
  package var delegate: DelegateIdentity
  /// Milliseconds that the delegate now has.
  package var timeout: UInt32
  package var stage: ProgressStage
  /// What came of it, where it has settled; means nothing else.
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

/// What came of one delegate, in a verdict.
package struct Outcome: Equatable, Sendable {
  package var delegate: DelegateIdentity
  package var outcome: OutcomeKind
  /// Why, or the error; empty if nothing was said.
  package var reason: String
  /// Microseconds from the question to what came of it.
  package var elapsed: UInt64
  /// What it answered, if `answered`.
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

/// What came of a query. The serial is that of the `ask`.
package struct Verdict: FrameFields {
  package static let kind = FrameKind.verdict

  package var query: QueryID
  package var verdict: VerdictKind
  /// Nobody approved or vetoed: the verdict is the asker's own default.
  package var isUnanswered: Bool
  /// One for each delegate of which something came, in the chain's order.
  package var outcomes: [Outcome]
  /// There are vetoes, and the asker went past them.
  package var isOverridden: Bool
  package var isDryRun: Bool

  package init(
    query: QueryID, verdict: VerdictKind, isUnanswered: Bool, outcomes: [Outcome],
    isOverridden: Bool = false, isDryRun: Bool = false
  ) {
    self.query = query
    self.verdict = verdict
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
    self.isOverridden = isOverridden
    self.isDryRun = isDryRun
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
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(verdict.rawValue)
    buffer.append(isUnanswered)
    buffer.append(UInt32(outcomes.count))
    for outcome in outcomes {
      buffer.appendRecord { outcome.append(to: $0) }
    }
    buffer.append(isOverridden)
    buffer.append(isDryRun)
  }
}

/// How a query ended that this delegate was asked in. The serial is that of the `attach`.
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
