// SPDX-License-Identifier: Apache-2.0

import Tribune

/// How long those who are awaited are waited for.
struct Waiting: Equatable, Sendable {
  /// Nil for as long as the bus waits by default.
  var deadline: Duration?

  /// Posts what is awaited, and waits a little longer than the bus may take.
  func whileWaited(
    over connection: Connection,
    _ post: @escaping @Sendable (_ deadline: Duration?) async throws(TribuneError) -> AwaitedReply
  ) async throws(TribuneError) -> AwaitedReply {
    try await bounded(by: connection.bus.patience(for: deadline)) {
      [self] () async throws(TribuneError) -> AwaitedReply in try await post(deadline)
    }
  }
}
