// SPDX-License-Identifier: Apache-2.0

/// The holds and delegates that a query would meet.
public struct Explanation: Hashable, Sendable {
  public var holds: [HoldInfo]
  /// The delegates that the bus's configuration requires and that are not attached, by label or unit: each
  /// would veto it.
  public var missing: [String]
  /// The delegates that would be asked, in the chain's order.
  public var delegates: [DelegateInfo]
  /// The protocol of the object's delegates; nil if it was not declared.
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
