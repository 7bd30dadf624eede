// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

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
}

/// What a query decides.
package enum VerdictKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
}

/// Options of a query.
package struct QueryFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: QueryFlags { QueryFlags(rawValue: 0) }
  /// The query decides nothing, and the question says so to the delegates.
  package static let isDryRun = QueryFlags(rawValue: 1)
  /// The asker overrides vetoes, and gives a reason.
  package static let overrides = QueryFlags(rawValue: 2)
  /// The asker also wants `progress` when a delegate is asked, and when its outcome is known.
  package static let wantsProgress = QueryFlags(rawValue: 4)
  /// If the verdict is *allowed*, the action is then under way until the asker cancels the query or disconnects.
  package static let begins = QueryFlags(rawValue: 8)

  package static let all: QueryFlags = [.isDryRun, .overrides, .wantsProgress, .begins]

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: QueryFlags) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// A query.
package struct Ask: FrameFields {
  package static let kind = FrameKind.ask
  /// Where the field deadline is.
  static let deadlineOffset = 0

  /// Milliseconds until the verdict; 0 for `deadlineDefault`.
  package var deadline: UInt32
  package var mode: QueryMode
  /// The verdict if no participant approves or vetoes.
  package var fallback: VerdictKind
  /// The query that a delegate of the asker's user is answering; 0 for none.
  package var parent: UInt64
  package var flags: QueryFlags
  /// Why vetoes are overridden; ignored without the flag *overrides*.
  package var overrideReason: String
  /// Not 0: vetoed while this many actions of the name and object are under way.
  package var slots: UInt32

  package init(
    deadline: UInt32 = 0, mode: QueryMode = .parallel, fallback: VerdictKind = .allowed, parent: UInt64 = 0,
    flags: QueryFlags = [], overrideReason: String = "", slots: UInt32 = 0
  ) {
    self.deadline = deadline
    self.mode = mode
    self.fallback = fallback
    self.parent = parent
    self.flags = flags
    self.overrideReason = overrideReason
    self.slots = slots
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      deadline: reader.integer(), mode: reader.value(), fallback: reader.value(), parent: reader.integer(),
      flags: reader.options(QueryFlags.all), overrideReason: reader.text(), slots: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(deadline)
    buffer.append(mode.rawValue)
    buffer.append(fallback.rawValue)
    buffer.append(parent)
    buffer.append(flags.rawValue)
    buffer.appendField(overrideReason)
    buffer.append(slots)
  }
}

/// The stage of an action.
package enum ActionStage: UInt8, Sendable, CaseIterable {
  /// The action is under way.
  case underWay = 0
  /// The sender waits for a slot: a place in the line of the action's name and object.
  case waiting = 1
  /// As waiting. Holds that come later do not veto the sender, and are too late.
  case claiming = 2
  /// A query that has not ended; invalid in a `begin`.
  case asked = 3
}

/// Registers an action that is under way, or that waits to begin.
package struct Begin: FrameFields {
  package static let kind = FrameKind.begin

  /// An action of the same user that moves here from another connection; 0 for one that began without this bus.
  package var query: QueryID
  /// This is the connection's last frame; the action stays.
  package var isLast: Bool
  package var stage: ActionStage

  package init(query: QueryID, isLast: Bool = false, stage: ActionStage = .underWay) {
    self.query = query
    self.isLast = isLast
    self.stage = stage
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(query: QueryID(rawValue: reader.integer()), isLast: reader.flag(), stage: reader.value())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(isLast)
    buffer.append(stage.rawValue)
  }
}

/// How many actions under way began before a hold.
package struct Late: FrameFields {
  package static let kind = FrameKind.late

  /// The hold's id.
  package var delegate: DelegateID
  /// 0 once all have ended.
  package var actions: UInt32

  package init(delegate: DelegateID, actions: UInt32) {
    self.delegate = delegate
    self.actions = actions
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(delegate: DelegateID(rawValue: reader.integer()), actions: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(delegate.rawValue)
    buffer.append(actions)
  }
}

/// Asks one delegate.
package struct Question: FrameFields {
  package static let kind = FrameKind.question

  /// The same for all delegates of the query; never reused.
  package var query: QueryID
  package var delegate: DelegateID
  /// Milliseconds for the answer.
  package var timeout: UInt32
  /// The asking process.
  package var asker: PeerIdentity
  /// The query decides nothing.
  package var isDryRun: Bool
  /// The asker wants a value, not permission.
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
    try self.init(
      query: QueryID(rawValue: reader.integer()), delegate: DelegateID(rawValue: reader.integer()),
      timeout: reader.integer(), asker: PeerIdentity(from: &reader), isDryRun: reader.flag(),
      wantsValue: reader.flag())
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

/// A delegate's answer.
package enum AnswerKind: UInt8, Sendable, CaseIterable {
  case approve = 0
  case veto = 1
  case abstain = 2
  case failed = 3
  /// The payload is a value, as a data source returns it.
  case value = 4
}

/// The delegate's answer.
package struct Answer: FrameFields {
  package static let kind = FrameKind.answer

  /// Query and delegate as in the question.
  package var query: QueryID
  package var delegate: DelegateID
  package var answer: AnswerKind

  package init(query: QueryID, delegate: DelegateID, answer: AnswerKind) {
    self.query = query
    self.delegate = delegate
    self.answer = answer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      query: QueryID(rawValue: reader.integer()), delegate: DelegateID(rawValue: reader.integer()),
      answer: reader.value())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(answer.rawValue)
  }
}

/// The delegate needs more time.
package struct Defer: FrameFields {
  package static let kind = FrameKind.defer

  package var query: QueryID
  /// As in the question; 0 for the only delegate of the sender's user that the query waits for.
  package var delegate: DelegateID
  /// New timeout: milliseconds from now.
  package var `extension`: UInt32

  package init(query: QueryID, delegate: DelegateID, extension: UInt32) {
    self.query = query
    self.delegate = delegate
    self.extension = `extension`
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      query: QueryID(rawValue: reader.integer()), delegate: DelegateID(rawValue: reader.integer()),
      extension: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(`extension`)
  }
}

/// How far a query has come with one delegate.
package enum ProgressStage: UInt8, Sendable, CaseIterable {
  /// The delegate needs more time.
  case deferred = 0
  /// The bus has asked the delegate.
  case asked = 1
  /// The delegate has an outcome.
  case settled = 2
}

/// The outcome of one delegate. `held`: by a hold, or by an action in a slot.
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

/// The state of a query with one delegate.
package struct Progress: FrameFields {
  package static let kind = FrameKind.progress

  package var query: QueryID
  package var delegate: DelegateIdentity
  /// Milliseconds that the delegate now has; 0 once it has settled.
  package var timeout: UInt32
  package var stage: ProgressStage
  /// At the stage *settled*, as in `verdict`; else ignored.
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
    try self.init(
      query: QueryID(rawValue: reader.integer()), delegate: DelegateIdentity(from: &reader),
      timeout: reader.integer(), stage: reader.value(), outcome: reader.value())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    delegate.append(to: buffer)
    buffer.append(timeout)
    buffer.append(stage.rawValue)
    buffer.append(outcome.rawValue)
  }
}

/// The outcome of one delegate.
package struct Outcome: Equatable, Sendable {
  /// Of a hold, its id, label and process; of a missing delegate, id 0 and the label `unit:NAME` or `label:NAME`; of an
  /// action under way, id 0 and the process.
  package var delegate: DelegateIdentity
  package var outcome: OutcomeKind
  /// The reason or error; can be empty.
  package var reason: String
  /// Microseconds from the question to the outcome; of an action, since it began.
  package var elapsed: UInt64
  /// The value of the answer.
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
    try self.init(
      delegate: DelegateIdentity(from: &reader), outcome: reader.value(), reason: reader.text(),
      elapsed: reader.integer(), value: reader.byteArray())
  }

  package func append(to buffer: ByteBuffer) {
    delegate.append(to: buffer)
    buffer.append(outcome.rawValue)
    buffer.appendField(reason)
    buffer.append(elapsed)
    buffer.appendBytesField(value)
  }
}

/// The result of a query.
package struct Verdict: FrameFields {
  package static let kind = FrameKind.verdict

  package var query: QueryID
  package var verdict: VerdictKind
  /// The query got no approval or veto; for a value query, no value.
  package var isUnanswered: Bool
  /// Holds, oldest first; missing required delegates; actions that fill the slots, oldest first; delegates with an
  /// outcome, in the chain's order.
  package var outcomes: [Outcome]
  /// Vetoes among the outcomes were overridden.
  package var isOverridden: Bool
  /// As in the `ask`.
  package var isDryRun: Bool
  /// Outcomes that are not listed.
  package var omittedCount: UInt32
  /// A similar name, unless a delegate or hold has exactly this name.
  package var similarName: String

  package init(
    query: QueryID, verdict: VerdictKind, isUnanswered: Bool, outcomes: [Outcome], isOverridden: Bool = false,
    isDryRun: Bool = false, omittedCount: UInt32 = 0, similarName: String = ""
  ) {
    self.query = query
    self.verdict = verdict
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
    self.isOverridden = isOverridden
    self.isDryRun = isDryRun
    self.omittedCount = omittedCount
    self.similarName = similarName
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = try QueryID(rawValue: reader.integer())
    verdict = try reader.value()
    isUnanswered = try reader.flag()
    outcomes = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      var record = try reader.record()
      outcomes.append(try Outcome(from: &record))
    }
    isOverridden = try reader.flag()
    isDryRun = try reader.flag()
    omittedCount = try reader.integer()
    similarName = try reader.text()
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
    buffer.append(omittedCount)
    buffer.appendField(similarName)
  }
}

/// How a query ended, for the delegates that were asked.
package enum ConclusionKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
  /// The asker cancelled the query, or disconnected.
  case cancelled = 2
}

/// How a query ended.
package struct Concluded: FrameFields {
  package static let kind = FrameKind.concluded

  /// As in the question.
  package var query: QueryID
  package var delegate: DelegateID
  package var conclusion: ConclusionKind

  package init(query: QueryID, delegate: DelegateID, conclusion: ConclusionKind) {
    self.query = query
    self.delegate = delegate
    self.conclusion = conclusion
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      query: QueryID(rawValue: reader.integer()), delegate: DelegateID(rawValue: reader.integer()),
      conclusion: reader.value())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(conclusion.rawValue)
  }
}
