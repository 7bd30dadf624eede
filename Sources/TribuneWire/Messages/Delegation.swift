// SPDX-License-Identifier: Apache-2.0

/// What a delegate that says nothing, or breaks, counts as.
package enum FailurePolicy: UInt8, Sendable, CaseIterable {
  case veto = 0
  case abstain = 1
}

/// How a query goes through the chain.
package enum QueryMode: UInt8, Sendable, CaseIterable {
  /// All are asked at once; the first veto is the verdict.
  case parallel = 0
  /// All are asked at once and all are waited for.
  case all = 1
  /// One is asked at a time; none after a veto.
  case order = 2
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
}

/// What came of one delegate. `held` is for standing vetoes.
package enum OutcomeKind: UInt8, Sendable, CaseIterable {
  case approved = 0
  case vetoed = 1
  case abstained = 2
  case timedOut = 3
  case gone = 4
  case failed = 5
  case held = 6
}

/// How a query ended, for those who were asked.
package enum ConclusionKind: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case vetoed = 1
  /// The asker took it back, or is gone.
  case cancelled = 2
}

/// Who is at the other end of a connection, as the kernel and systemd know it.
package struct PeerIdentity: Equatable, Sendable {
  package var pid: UInt32
  package var uid: UInt32
  package var gid: UInt32
  /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
  package var process: String
  /// The systemd unit, empty if none.
  package var unit: String

  package init(pid: UInt32, uid: UInt32, gid: UInt32, process: String, unit: String) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
    self.process = process
    self.unit = unit
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    pid = try reader.integer()
    uid = try reader.integer()
    gid = try reader.integer()
    process = try reader.text()
    unit = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(pid)
    buffer.append(uid)
    buffer.append(gid)
    buffer.appendField(process)
    buffer.appendField(unit)
  }
}

/// Joins the chain of the frame's object; no object: of any object.
package struct Attach: FrameFields {
  package static let kind = FrameKind.attach

  /// Place in the chain: lower is earlier, equal goes by time of attaching.
  package var order: Int32
  package var failurePolicy: FailurePolicy
  /// Milliseconds of silence before it counts as timed out; 0 is the bus's own setting.
  package var timeout: UInt32
  package var label: String
  /// The names that the delegate responds to.
  package var patterns: [String]

  package init(
    order: Int32 = 0, failurePolicy: FailurePolicy = .veto, timeout: UInt32 = 0, label: String = "",
    patterns: [String]
  ) {
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.label = label
    self.patterns = patterns
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    order = try reader.integer()
    failurePolicy = try reader.value()
    timeout = try reader.integer()
    label = try reader.text()
    let count = Int(try reader.integer(UInt16.self))
    guard count <= WireLimits.patternsPerDelegate else {
      throw WireError(
        .limitExceeded, "\(count) patterns in one attach, at most \(WireLimits.patternsPerDelegate)")
    }
    patterns = []
    for _ in 0..<count { patterns.append(try reader.text()) }
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(order)
    buffer.append(failurePolicy.rawValue)
    buffer.append(timeout)
    buffer.appendField(label)
    buffer.append(UInt16(patterns.count))
    for pattern in patterns { buffer.appendField(pattern) }
  }
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

  package init(
    deadline: UInt32 = 0, mode: QueryMode = .parallel, fallback: VerdictKind = .allowed, parent: UInt64 = 0
  ) {
    self.deadline = deadline
    self.mode = mode
    self.fallback = fallback
    self.parent = parent
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    deadline = try reader.integer()
    mode = try reader.value()
    fallback = try reader.value()
    parent = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(deadline)
    buffer.append(mode.rawValue)
    buffer.append(fallback.rawValue)
    buffer.append(parent)
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

  package init(query: QueryID, delegate: DelegateID, timeout: UInt32, asker: PeerIdentity) {
    self.query = query
    self.delegate = delegate
    self.timeout = timeout
    self.asker = asker
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = DelegateID(rawValue: try reader.integer())
    timeout = try reader.integer()
    asker = try PeerIdentity(from: &reader)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(delegate.rawValue)
    buffer.append(timeout)
    asker.append(to: buffer)
  }
}

/// What a delegate says to a question. The payload is the reason for a veto, the error for a failure.
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
package struct Defer: FrameFields {
  package static let kind = FrameKind.defer

  package var query: QueryID
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

/// A delegate as others see it.
package struct DelegateIdentity: Equatable, Sendable {
  package var id: DelegateID
  package var label: String
  package var peer: PeerIdentity

  package init(id: DelegateID, label: String, peer: PeerIdentity) {
    self.id = id
    self.label = label
    self.peer = peer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    id = DelegateID(rawValue: try reader.integer())
    label = try reader.text()
    peer = try PeerIdentity(from: &reader)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    buffer.appendField(label)
    peer.append(to: buffer)
  }
}

/// A delegate has deferred. The serial is that of the `ask`, the payload what the delegate says.
package struct Progress: FrameFields {
  package static let kind = FrameKind.progress

  package var query: QueryID
  package var delegate: DelegateIdentity
  /// Milliseconds that the delegate now has.
  package var timeout: UInt32

  package init(query: QueryID, delegate: DelegateIdentity, timeout: UInt32) {
    self.query = query
    self.delegate = delegate
    self.timeout = timeout
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    delegate = try DelegateIdentity(from: &reader)
    timeout = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    delegate.append(to: buffer)
    buffer.append(timeout)
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

  package init(delegate: DelegateIdentity, outcome: OutcomeKind, reason: String, elapsed: UInt64) {
    self.delegate = delegate
    self.outcome = outcome
    self.reason = reason
    self.elapsed = elapsed
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

  package init(query: QueryID, verdict: VerdictKind, isUnanswered: Bool, outcomes: [Outcome]) {
    self.query = query
    self.verdict = verdict
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    query = QueryID(rawValue: try reader.integer())
    verdict = try reader.value()
    isUnanswered = try reader.integer(UInt8.self) != 0
    let count = Int(try reader.integer(UInt32.self))
    outcomes = []
    for _ in 0..<count {
      var record = try reader.record()
      outcomes.append(
        Outcome(
          delegate: try DelegateIdentity(from: &record), outcome: try record.value(),
          reason: try record.text(), elapsed: try record.integer()))
    }
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(query.rawValue)
    buffer.append(verdict.rawValue)
    buffer.append(UInt8(isUnanswered ? 1 : 0))
    buffer.append(UInt32(outcomes.count))
    for outcome in outcomes {
      buffer.appendRecord { record in
        outcome.delegate.append(to: record)
        record.append(outcome.outcome.rawValue)
        record.appendField(outcome.reason)
        record.append(outcome.elapsed)
      }
    }
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
