// SPDX-License-Identifier: Apache-2.0

/// The facts about a process by which the bus's policy decides.
public struct PolicySubject: Hashable, Sendable {
  public var uid: UInt32
  /// The primary and supplementary groups.
  public var groups: [UInt32]
  /// The process's unit in the system's service manager; nil if the process has none, or if the bus does not
  /// know the unit for certain, as on Linux before 6.5.
  public var unit: String?

  public init(uid: UInt32, groups: [UInt32] = [], unit: String? = nil) {
    self.uid = uid
    self.groups = groups
    self.unit = unit
  }
}

/// A decision of the bus's policy about an action, such as `post`, with its reason.
public struct PolicyDecision: Hashable, Sendable {
  public struct Line: Hashable, Sendable {
    public var file: String
    /// The line's number in the file, from 1.
    public var number: Int
    public var text: String
  }

  /// A line of the policy that would allow the action if one condition were met.
  public struct NearMiss: Hashable, Sendable {
    public var line: Line
    /// The missing condition as a text for people, such as `needs group:operators`.
    public var lacks: String
  }

  public var isAllowed: Bool
  /// True if the policy does not apply: the subject runs the bus, or is root and the bus has no policy.
  public var isExempt: Bool
  /// The line that decides; nil if no line does.
  public var line: Line?
  public var subject: PolicySubject
  /// The near misses, at most ten; empty unless the bus refuses because no line allows the action.
  public var nearMisses: [NearMiss] = []
}
