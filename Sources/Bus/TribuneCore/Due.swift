// SPDX-License-Identifier: Apache-2.0

/// The item of a deadline in the core.
enum Due {
  typealias Handle = Deadlines<Due>.Handle

  /// By its place in the table of queries.
  case query(Int)
  /// By its number.
  case awaitedPost(Int)
  case hold(HoldRegistration)
}
