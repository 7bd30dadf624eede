// SPDX-License-Identifier: Apache-2.0

enum Due {
  typealias Handle = Deadlines<Due>.Handle

  /// The place of the query in the `QueryTable`.
  case query(Int)
  /// The number of the awaited post in `AwaitedPosts`.
  case awaitedPost(Int)
  case hold(HoldRegistration)
}
