// SPDX-License-Identifier: Apache-2.0

/// The reply to a value query.
public struct QueryReply: Hashable, Sendable {
  /// The query's id, never reused.
  public var query: UInt64
  /// The outcomes in the chain's order: all that have a value, and as many others as fit in the reply.
  public var outcomes: [Outcome]
  /// How many outcomes did not fit in the reply. None of them has a value.
  public var omittedCount: Int
  /// See ``Verdict/similarName``.
  public var similarName: String

  /// For tests.
  public init(query: UInt64, outcomes: [Outcome] = [], omittedCount: Int = 0, similarName: String = "") {
    self.query = query
    self.outcomes = outcomes
    self.omittedCount = omittedCount
    self.similarName = similarName
  }

  /// The values, in the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
