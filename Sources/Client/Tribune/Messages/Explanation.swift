// SPDX-License-Identifier: Apache-2.0

/// The holds and delegates that a query would meet, and actions under way with the query's name and object.
public struct Explanation: Hashable, Sendable {
  public var holds: [HoldInfo]
  public var actions: [ActionInfo]
  /// The required delegates that are not attached, as `unit:NAME` or `label:NAME`. For each of them, the bus
  /// would veto the query. The entry `*` means that ``delegates`` is empty, and `Default=veto` would veto.
  public var missing: [String]
  /// The delegates, in the chain's order.
  public var delegates: [DelegateInfo]
  /// The object's protocol; nil if the object was not declared.
  public var protocolName: String?

  /// Makes an explanation, for tests.
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
