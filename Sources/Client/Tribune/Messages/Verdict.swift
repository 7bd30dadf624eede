// SPDX-License-Identifier: Apache-2.0

/// How a query for permission goes through the delegate chain.
public enum Mode: String, Hashable, Sendable, CaseIterable {
  /// All are asked at once; the first veto decides, and the other questions are cancelled.
  case parallel
  /// All are asked at once, and all are waited for, so that the verdict has every veto.
  case all
  /// One is asked at a time, in the chain's order; none after a veto.
  case order
}

/// The verdict on a query.
public struct Verdict: Hashable, Sendable {
  public enum Decision: String, Hashable, Sendable, CaseIterable {
    /// Go ahead: there is no veto, or the asker overrides the vetoes.
    case allowed
    /// Do not: there is a veto, or no delegate decided and this is the asker's default.
    case vetoed
  }

  public var decision: Decision
  /// The query's id, never used again.
  public var query: UInt64
  /// Whether no delegate approved or vetoed: the decision is the asker's own default.
  public var isUnanswered: Bool
  /// The outcome of each delegate that has one, in the chain's order: the holds and the delegates that fit.
  public var outcomes: [Outcome]
  /// The number of further outcomes, which the bus has not listed because there are too many. At least one veto is
  /// always listed if there is any.
  public var omittedCount: Int
  /// Whether there are vetoes among the outcomes, which the asker overrode.
  public var isOverridden: Bool
  /// Whether it was a dry run: the delegates knew that no action would follow.
  public var isDryRun: Bool
  /// If there is no outcome: a name like the asked one, to which a delegate responds, or which is held, configured or
  /// well known, so that it may be what was meant. Empty if the asker may know none.
  public var similarName: String

  /// Makes a verdict for tests of askers.
  public init(
    _ decision: Decision, query: UInt64, isUnanswered: Bool = false, outcomes: [Outcome] = [],
    omittedCount: Int = 0, isOverridden: Bool = false, isDryRun: Bool = false,
    similarName: String = ""
  ) {
    self.decision = decision
    self.query = query
    self.isUnanswered = isUnanswered
    self.outcomes = outcomes
    self.omittedCount = omittedCount
    self.isOverridden = isOverridden
    self.isDryRun = isDryRun
    self.similarName = similarName
  }

  public var isAllowed: Bool { decision == .allowed }
}

/// The outcome of one delegate, or of a hold.
public struct Outcome: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case approved
    case vetoed
    case abstained
    /// It did not answer in its time.
    case timedOut
    /// It left, or its connection ended, before it answered; or it is required and not attached.
    case gone
    /// It failed; the reason is its error.
    case failed
    /// It is a hold, a standing veto; the reason is the hold's.
    case held
    /// It gave a value, which the outcome carries.
    case answered
  }

  /// The id of the delegate or the hold, never used again; 0 for a required delegate that is not attached.
  public var delegate: UInt64
  /// The delegate's label; empty if none.
  public var label: String
  public var kind: Kind
  /// The reason or the error; empty if none was given.
  public var reason: String
  /// The delegate's process, as in ``Asker``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time from the question to the outcome.
  public var elapsed: Duration
  /// The value, if the kind is ``Kind/answered``; else nil.
  public var value: UserInfo?

  /// Makes an outcome for tests of askers.
  public init(
    delegate: UInt64, label: String = "", kind: Kind, reason: String = "", pid: Int32 = 0, uid: UInt32 = 0,
    process: String = "", units: Units = Units(), elapsed: Duration = .zero, value: UserInfo? = nil
  ) {
    self.delegate = delegate
    self.label = label
    self.kind = kind
    self.reason = reason
    self.pid = pid
    self.uid = uid
    self.process = process
    self.units = units
    self.elapsed = elapsed
    self.value = value
  }
}

/// The progress of a query with one delegate: whether it is waited for, for how long, and what it reports.
public struct Progress: Hashable, Sendable {
  /// Where the query is with the delegate.
  public enum Stage: Hashable, Sendable {
    case asked
    /// It asks for more time.
    case deferred
    /// It is not waited for any more, and has this outcome.
    case settled(Outcome.Kind)
  }

  /// The query's id.
  public var query: UInt64
  /// The delegate's id.
  public var delegate: UInt64
  /// The delegate's label; empty if none.
  public var label: String
  /// Its status if it has ``Stage/deferred``, or the reason for its outcome; empty if none.
  public var status: String
  /// The time that it now has; zero once it has settled.
  public var timeout: Duration
  /// The delegate's process, as in ``Asker``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// Where the query is with the delegate.
  public var stage: Stage

  /// Makes a progress report for tests.
  public init(
    query: UInt64, delegate: UInt64, label: String = "", status: String = "", timeout: Duration = .zero,
    pid: Int32 = 0, uid: UInt32 = 0, process: String = "", units: Units = Units(), stage: Stage
  ) {
    self.query = query
    self.delegate = delegate
    self.label = label
    self.status = status
    self.timeout = timeout
    self.pid = pid
    self.uid = uid
    self.process = process
    self.units = units
    self.stage = stage
  }
}
