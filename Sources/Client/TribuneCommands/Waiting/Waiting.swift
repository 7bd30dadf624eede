// SPDX-License-Identifier: Apache-2.0

import Tribune

/// How long to wait for awaited observers.
struct Waiting: Equatable, Sendable {
  /// Nil for the bus's default.
  var deadline: Duration?

  /// Posts an awaited notification, and waits a little longer than the bus may take.
  func whileWaited(
    over connection: Connection,
    _ post: @escaping @Sendable (_ deadline: Duration?) async throws(TribuneError) -> AwaitedReply
  ) async throws(TribuneError) -> AwaitedReply {
    try await bounded(by: connection.bus.replyTimeout(for: deadline)) {
      [self] () async throws(TribuneError) -> AwaitedReply in try await post(deadline)
    }
  }
}
