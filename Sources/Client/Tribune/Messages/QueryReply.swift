// SPDX-License-Identifier: Apache-2.0

/// The reply to a value query.
public struct QueryReply: Hashable, Sendable {
  /// The query's id, which the bus never uses again.
  public var query: UInt64
  /// The outcomes in the chain's order: all that have a value, and as many others as fit into the reply.
  public var outcomes: [Outcome]
  /// The number of outcomes that did not fit. Omitted outcomes never have values.
  public var omittedCount: Int
  /// See ``Verdict/similarName``.
  public var similarName: String

  /// Makes a reply, for tests.
  public init(query: UInt64, outcomes: [Outcome] = [], omittedCount: Int = 0, similarName: String = "") {
    self.query = query
    self.outcomes = outcomes
    self.omittedCount = omittedCount
    self.similarName = similarName
  }

  /// The values, in the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  /// The first value; nil if no delegate gave one.
  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
