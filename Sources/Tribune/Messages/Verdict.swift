// SPDX-License-Identifier: Apache-2.0

/// How a query for leave goes through the delegate chain.
public enum Mode: String, Hashable, Sendable, CaseIterable {
  /// All are asked at once; the first veto is the verdict, and the rest are cancelled.
  case parallel
  /// All are asked at once and all are waited for, so that the verdict has every veto.
  case all
  /// One is asked at a time, in the chain's order; none after a veto.
  case order
}

/// What came of a query.
public struct Verdict: Hashable, Sendable {
  /// The two verdicts there are.
  public enum Decision: String, Hashable, Sendable, CaseIterable {
    /// Nobody objects: go ahead.
    case allowed
    /// Somebody objects: do not.
    case vetoed
  }

  /// The verdict.
  public var decision: Decision
  /// The query's id, never used again.
  public var query: UInt64
  /// Nobody approved or vetoed: the decision is the asker's own default.
  public var isUnanswered: Bool
  /// What came of each delegate of which something came, in the chain's order.
  public var outcomes: [Outcome]
  /// There are vetoes among the outcomes, and the asker went past them.
  public var isOverridden: Bool
  /// The delegates were told that nothing will come of it.
  public var isDryRun: Bool

  /// Makes a verdict as if it had been received, which tests of askers want.
  public init(
    _ decision: Decision, query: UInt64, isUnanswered: Bool = false, outcomes: [Outcome] = [],
    isOverridden: Bool = false, isDryRun: Bool = false
  ) {
    self.decision = decision
    self.query = query
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
    self.isOverridden = isOverridden
    self.isDryRun = isDryRun
  }

  /// Whether nobody objects.
  public var isAllowed: Bool { decision == .allowed }
}

/// What came of one delegate.
public struct Outcome: Hashable, Sendable {
  /// The ways in which it can end.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It said yes.
    case approved
    /// It said no.
    case vetoed
    /// It has no opinion.
    case abstained
    /// It did not answer in its time.
    case timedOut
    /// Its connection ended before it answered.
    case gone
    /// It broke; the reason is its error.
    case failed
    /// A standing veto; the reason is the hold's.
    case held
    /// It gave a value, which the outcome carries.
    case answered
  }

  /// The id of the delegate, or of the hold, never used again; 0 for a delegate that is required and missing.
  public var delegate: UInt64
  /// What the delegate calls itself; empty if nothing.
  public var label: String
  /// How it ended.
  public var kind: Kind
  /// Why, or the error; empty if nothing was said.
  public var reason: String
  /// The delegate's process.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes.
  public var process: String
  /// The process's systemd unit; empty if none.
  public var unit: String
  /// From the question to what came of it.
  public var elapsed: Duration
  /// What it gave, if it ``Kind/answered``; else nil.
  public var value: UserInfo?

  /// Makes an outcome as if it had been received, which tests of askers want.
  public init(
    delegate: UInt64, label: String = "", kind: Kind, reason: String = "", pid: Int32 = 0, uid: UInt32 = 0,
    process: String = "", unit: String = "", elapsed: Duration = .zero, value: UserInfo? = nil
  ) {
    self.delegate = delegate
    self.label = label
    self.kind = kind
    self.reason = reason
    self.pid = pid
    self.uid = uid
    self.process = process
    self.unit = unit
    self.elapsed = elapsed
    self.value = value
  }
}

/// How a query goes on with one delegate: who is being waited for, since when, and what it says.
public struct Progress: Hashable, Sendable {
  /// Where the query is with the delegate.
  public enum Stage: Hashable, Sendable {
    /// It has been asked.
    case asked
    /// It asks for more time.
    case deferred
    /// It is not waited for any more, and this came of it.
    case settled(Outcome.Kind)
  }

  /// The query's id.
  public var query: UInt64
  /// The delegate's id.
  public var delegate: UInt64
  /// What the delegate calls itself; empty if nothing.
  public var label: String
  /// What it says about its work, if it has ``Stage/deferred``, or the reason of what came of it; empty if nothing.
  public var status: String
  /// The time that it now has; nothing once it has settled.
  public var timeout: Duration
  /// The delegate's process.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes.
  public var process: String
  /// The process's systemd unit; empty if none.
  public var unit: String
  /// Where the query is with the delegate.
  public var stage: Stage

  /// Makes a progress as if it had been received, which tests of what shows it want.
  public init(
    query: UInt64, delegate: UInt64, label: String = "", status: String = "", timeout: Duration = .zero,
    pid: Int32 = 0, uid: UInt32 = 0, process: String = "", unit: String = "", stage: Stage
  ) {
    self.query = query
    self.delegate = delegate
    self.label = label
    self.status = status
    self.timeout = timeout
    self.pid = pid
    self.uid = uid
    self.process = process
    self.unit = unit
    self.stage = stage
  }
}
