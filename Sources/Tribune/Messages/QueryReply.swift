// SPDX-License-Identifier: Apache-2.0

/// The reply to a value query.
public struct QueryReply: Hashable, Sendable {
  /// The query's id, never used again.
  public var query: UInt64
  /// The outcome of each delegate that has one, in the chain's order.
  public var outcomes: [Outcome]

  /// Makes a reply for tests of askers.
  public init(query: UInt64, outcomes: [Outcome] = []) {
    self.query = query
    self.outcomes = outcomes
  }

  /// The values, in the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  /// The first value; nil if there is none.
  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
