// SPDX-License-Identifier: Apache-2.0

/// How a query for permission goes through the delegate chain.
public enum Mode: String, Hashable, Sendable, CaseIterable {
  /// All delegates are asked at once; the first veto decides, and the other questions are cancelled.
  case parallel
  /// All delegates are asked at once, and all are awaited, so the verdict has every veto.
  case all
  /// The delegates are asked one at a time, in the chain's order, until one vetoes.
  case order
}

public struct Verdict: Hashable, Sendable {
  public enum Decision: String, Hashable, Sendable, CaseIterable {
    /// Nobody vetoed, or the asker overrode the vetoes.
    case allowed
    /// Somebody vetoed, or no delegate decided and the default is a veto.
    case vetoed
  }

  public var decision: Decision
  /// The query's id, never reused.
  public var query: UInt64
  /// True if nobody approved or vetoed, so the decision is the default.
  public var isUnanswered: Bool
  /// The outcomes of the holds and delegates, in the chain's order, as many as fit in the verdict.
  public var outcomes: [Outcome]
  /// How many outcomes did not fit in the verdict. If there is a veto, at least one is listed.
  public var omittedCount: Int
  /// True if the asker overrode vetoes, which are among the outcomes.
  public var isOverridden: Bool
  /// True if the delegates were told that no action would follow.
  public var isDryRun: Bool
  /// If there is no outcome: a name like the asked one to which a delegate responds, or which is held, configured or
  /// well known. Empty if the asker may know none.
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
    /// The delegate did not answer in its time.
    case timedOut
    /// The delegate left, or its connection ended, before it answered; or it is required and not attached.
    case gone
    /// The delegate failed; the reason is its error.
    case failed
    /// A hold vetoed; the reason is the hold's.
    case held
    /// The delegate gave a value, which the outcome carries.
    case answered
  }

  /// The id of the delegate or hold, never reused; 0 for a required delegate that is not attached.
  public var delegate: UInt64
  /// The claimed name; may be empty.
  public var label: String
  public var kind: Kind
  /// The reason of a veto or a failure; may be empty.
  public var reason: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time from the question to the outcome.
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
    /// The delegate asks for more time.
    case deferred
    /// The query no longer waits for the delegate.
    case settled(Outcome.Kind)
  }

  public var query: UInt64
  public var delegate: UInt64
  /// The claimed name; may be empty.
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
