// SPDX-License-Identifier: Apache-2.0

/// The subject of a decision of the bus's policy.
public struct PolicySubject: Hashable, Sendable {
  public var uid: UInt32
  /// Primary and supplementary.
  public var groups: [UInt32]
  /// Of the system's service manager; nil without one, or if the kernel cannot vouch for it.
  public var unit: String?

  public init(uid: UInt32, groups: [UInt32] = [], unit: String? = nil) {
    self.uid = uid
    self.groups = groups
    self.unit = unit
  }
}

/// How the policy of the bus decides about an action, and why.
public struct PolicyDecision: Hashable, Sendable {
  public struct Line: Hashable, Sendable {
    public var file: String
    /// Counted from 1; 0 if `text` is about a setting of the configuration.
    public var number: Int
    public var text: String
  }

  /// A line that would allow the action if one thing were different.
  public struct NearMiss: Hashable, Sendable {
    public var line: Line
    /// For people: `needs group:operators`.
    public var lacks: String
  }

  public var isAllowed: Bool
  /// The subject may do everything: it runs the bus, or is root on a bus without a policy.
  public var isExempt: Bool
  /// The line or setting that decides; nil if none does.
  public var line: Line?
  public var subject: PolicySubject
  /// The near misses, at most ten; empty if a line allows the action.
  public var nearMisses: [NearMiss] = []
}
