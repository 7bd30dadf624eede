// SPDX-License-Identifier: Apache-2.0

/// The subject of a decision of the bus's policy.
public struct PolicySubject: Hashable, Sendable {
  public var uid: UInt32
  /// The primary and supplementary groups.
  public var groups: [UInt32]
  /// The unit of the system's service manager. Nil without a unit, or if the kernel could not verify the process.
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
    /// The line's number in the file, from 1.
    public var number: Int
    public var text: String
  }

  /// A line that would allow the action if one thing were different.
  public struct NearMiss: Hashable, Sendable {
    public var line: Line
    /// The missing condition, for people, such as `needs group:operators`.
    public var lacks: String
  }

  public var isAllowed: Bool
  /// True if the subject may do everything, as the user that runs the bus, or as root on a bus without a policy.
  public var isExempt: Bool
  /// The line that decides; nil if no line does.
  public var line: Line?
  public var subject: PolicySubject
  /// The near misses, at most ten; empty unless the bus refuses because no line allows the action.
  public var nearMisses: [NearMiss] = []
}
