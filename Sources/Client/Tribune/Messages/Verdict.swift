// SPDX-License-Identifier: Apache-2.0

/// How a query for permission goes through the delegate chain.
public enum Mode: String, Hashable, Sendable, CaseIterable {
  /// All are asked at once; the first veto decides, and the other questions are cancelled.
  case parallel
  /// All are asked at once, and all are awaited: the verdict has every veto.
  case all
  /// One is asked at a time, in the chain's order; none after a veto.
  case order
}

public struct Verdict: Hashable, Sendable {
  public enum Decision: String, Hashable, Sendable, CaseIterable {
    /// Nobody vetoed, or the asker overrode the vetoes.
    case allowed
    /// A veto, or the default without a decision by a delegate.
    case vetoed
  }

  public var decision: Decision
  /// Never used again.
  public var query: UInt64
  /// Without an approval or a veto: the decision is the default.
  public var isUnanswered: Bool
  /// In the chain's order: the holds and the delegates that fit.
  public var outcomes: [Outcome]
  /// Outcomes that do not fit. At least one veto is always listed if one exists.
  public var omittedCount: Int
  /// The asker overrode vetoes, which are among the outcomes.
  public var isOverridden: Bool
  /// The delegates knew that no action would follow.
  public var isDryRun: Bool
  /// If only patterns of delegates and holds match the name: a similar name that one of these has, or that is
  /// configured or well known. Empty if the asker may not know any.
  public var similarName: String

  /// For tests.
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
    /// The reason is its error.
    case failed
    /// A hold vetoed; the reason is the hold's.
    case held
    /// The outcome carries its value.
    case answered
  }

  /// The id of the delegate or hold, never reused; 0 for a required delegate that is not attached.
  public var delegate: UInt64
  /// May be empty.
  public var label: String
  public var kind: Kind
  /// May be empty.
  public var reason: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// From the question to the outcome.
  public var elapsed: Duration
  /// Nil unless the kind is ``Kind/answered``.
  public var value: UserInfo?

  /// For tests.
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

/// The progress of a query with one delegate.
public struct Progress: Hashable, Sendable {
  public enum Stage: Hashable, Sendable {
    case asked
    /// It asks for more time.
    case deferred
    /// The query no longer waits for it.
    case settled(Outcome.Kind)
  }

  public var query: UInt64
  public var delegate: UInt64
  /// May be empty.
  public var label: String
  /// For ``Stage/deferred``, the delegate's status; else the reason of its outcome. May be empty.
  public var status: String
  /// The delegate's remaining time; zero once it has an outcome.
  public var timeout: Duration
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  public var stage: Stage

  /// For tests.
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
