// SPDX-License-Identifier: Apache-2.0

/// The reply to a value query.
public struct QueryReply: Hashable, Sendable {
  /// The query's id, never used again.
  public var query: UInt64
  /// The outcome of each delegate that has one, in the chain's order: all that have a value, and the others that fit.
  public var outcomes: [Outcome]
  /// The number of further outcomes, which the bus has not listed because there are too many. None has a value.
  public var omittedCount: Int
  /// A name that may be meant, as in ``Verdict/similarName``.
  public var similarName: String

  /// Makes a reply for tests of askers.
  public init(query: UInt64, outcomes: [Outcome] = [], omittedCount: Int = 0, similarName: String = "") {
    self.query = query
    self.outcomes = outcomes
    self.omittedCount = omittedCount
    self.similarName = similarName
  }

  /// The values, in the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  /// The first value; nil if there is none.
  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
