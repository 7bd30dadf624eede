// SPDX-License-Identifier: Apache-2.0

/// The holds and delegates that would take part in a query, and the actions under way that are about the same.
public struct Explanation: Hashable, Sendable {
  public var holds: [HoldInfo]
  public var actions: [ActionInfo]
  /// The labels or units of required delegates that are not attached. Each would veto.
  public var missing: [String]
  /// In the chain's order.
  public var delegates: [DelegateInfo]
  /// The object's protocol; nil if the object was not declared.
  public var protocolName: String?

  /// For tests.
  public init(
    holds: [HoldInfo] = [], actions: [ActionInfo] = [], missing: [String] = [],
    delegates: [DelegateInfo] = [],
    protocolName: String? = nil
  ) {
    self.holds = holds
    self.actions = actions
    self.missing = missing
    self.delegates = delegates
    self.protocolName = protocolName
  }
}
