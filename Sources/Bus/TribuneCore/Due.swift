// SPDX-License-Identifier: Apache-2.0

enum Due {
  typealias Handle = Deadlines<Due>.Handle

  /// The place in the table of queries.
  case query(Int)
  /// The post's number.
  case awaitedPost(Int)
  case hold(HoldRegistration)
}
