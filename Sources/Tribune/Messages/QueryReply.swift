// SPDX-License-Identifier: Apache-2.0

/// What came of a query for values.
public struct QueryReply: Hashable, Sendable {
  /// The query's id, never used again.
  public var query: UInt64
  /// What came of each delegate of which something came, in the chain's order.
  public var outcomes: [Outcome]

  /// Makes a reply as if it had been received, which tests of askers want.
  public init(query: UInt64, outcomes: [Outcome] = []) {
    self.query = query
    self.outcomes = outcomes
  }

  /// The values that were given, in the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  /// The first of the values; nil when nobody had one.
  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
