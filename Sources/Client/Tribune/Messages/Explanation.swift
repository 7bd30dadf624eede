// SPDX-License-Identifier: Apache-2.0

/// The holds and delegates that would take part in a query.
public struct Explanation: Hashable, Sendable {
  public var holds: [HoldInfo]
  /// The labels or units of required delegates that are not attached. Each would veto.
  public var missing: [String]
  /// In the chain's order.
  public var delegates: [DelegateInfo]
  /// The object's protocol; nil if the object was not declared.
  public var protocolName: String?

  /// For tests.
  public init(
    holds: [HoldInfo] = [], missing: [String] = [], delegates: [DelegateInfo] = [],
    protocolName: String? = nil
  ) {
    self.holds = holds
    self.missing = missing
    self.delegates = delegates
    self.protocolName = protocolName
  }
}
