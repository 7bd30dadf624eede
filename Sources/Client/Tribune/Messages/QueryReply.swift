// SPDX-License-Identifier: Apache-2.0

/// The reply to a value query.
public struct QueryReply: Hashable, Sendable {
  /// Never used again.
  public var query: UInt64
  /// In the chain's order: all with a value, and the others that fit.
  public var outcomes: [Outcome]
  /// Outcomes that do not fit. They have no values.
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

  /// In the chain's order.
  public var values: [UserInfo] { outcomes.compactMap(\.value) }

  public var value: UserInfo? { outcomes.lazy.compactMap(\.value).first }
}
