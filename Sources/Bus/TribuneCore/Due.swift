// SPDX-License-Identifier: Apache-2.0

/// The item of a deadline in the core.
enum Due {
  typealias Handle = Deadlines<Due>.Handle

  /// The place in the table of queries.
  case query(Int)
  /// The number of the awaited post.
  case awaitedPost(Int)
  case hold(HoldRegistration)
}
