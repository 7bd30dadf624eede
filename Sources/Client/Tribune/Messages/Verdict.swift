// SPDX-License-Identifier: Apache-2.0

/// The rule by which the bus asks the delegates of a query for permission, and ends the query.
public enum Mode: String, Hashable, Sendable, CaseIterable {
  /// The bus asks all delegates at once. The first veto decides, and the bus withdraws the open questions.
  case parallel
  /// The bus asks all delegates at once, and waits for every outcome. The verdict lists all vetoes that fit.
  case all
  /// The bus asks one delegate at a time, in the chain's order, and stops at the first veto.
  case order
}

public struct Verdict: Hashable, Sendable {
  public enum Decision: String, Hashable, Sendable, CaseIterable {
    /// A participant approved and none vetoed, the asker overrode vetoes, or the default *allowed* decides.
    case allowed
    /// A participant vetoed and the asker did not override, or the default *vetoed* decides.
    case vetoed
  }

  public var decision: Decision
  /// The query's id, which the bus never uses again.
  public var query: UInt64
  /// True if a default decided, instead of the delegates and holds: the asker's default, or `Default=veto`.
  public var isUnanswered: Bool
  /// The outcomes of holds and delegates, in the chain's order, as many as fit into the verdict.
  public var outcomes: [Outcome]
  /// The number of outcomes that did not fit. If there are vetoes, ``outcomes`` has at least one of them.
  public var omittedCount: Int
  /// True if the asker overrode vetoes. ``outcomes`` lists the vetoes that fit.
  public var isOverridden: Bool
  /// True for a dry run: the delegates knew that no action would follow.
  public var isDryRun: Bool
  /// A suggestion in case the query's name is misspelt: a similar name from a delegate, a hold, the bus's
  /// configuration or the well-known names. Empty if a delegate or hold has exactly the query's name, or if
  /// there is no similar name that the policy lets the asker know.
  public var similarName: String

  /// Makes a verdict, for tests.
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

/// The outcome of a delegate or a hold.
public struct Outcome: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case approved
    case vetoed
    case abstained
    case timedOut
    /// The delegate left or its connection ended before it answered, or a required delegate is not attached.
    case gone
    /// The delegate failed; the reason is its error.
    case failed
    /// A hold vetoed; the reason is the hold's reason.
    case held
    /// The delegate gave a value.
    case answered
  }

  /// The id of the delegate or hold, which the bus never uses again; 0 for a missing required delegate.
  public var delegate: UInt64
  /// The claimed name of the delegate or holder; may be empty.
  public var label: String
  public var kind: Kind
  /// The reason, or the error; may be empty.
  public var reason: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time from the question to the outcome.
  public var elapsed: Duration
  /// The value; nil unless the kind is ``Kind/answered``.
  public var value: UserInfo?

  /// Makes an outcome, for tests.
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
    /// The delegate asked for more time.
    case deferred
    /// The query no longer waits for the delegate.
    case settled(Outcome.Kind)
  }

  public var query: UInt64
  public var delegate: UInt64
  /// The delegate's claimed name; may be empty.
  public var label: String
  /// The status for ``Stage/deferred``, or the outcome's reason for ``Stage/settled(_:)``; may be empty.
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

  /// Makes a progress report, for tests.
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
