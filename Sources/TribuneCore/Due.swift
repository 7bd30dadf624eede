// SPDX-License-Identifier: Apache-2.0

/// What a deadline of the core is for.
enum Due {
  typealias Handle = Deadlines<Due>.Handle

  /// By its place in the table of queries.
  case query(Int)
  /// By its number.
  case awaitedPost(Int)
  case hold(HoldRegistration)
}
