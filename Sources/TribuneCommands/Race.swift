// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// What the first of several works brings. The others are cancelled and not waited for: one that does
/// not react must not keep a command from ending.
func first<Result: Sendable>(of works: (@Sendable () async -> Result)...) async -> Result? {
  let (results, continuation) = AsyncStream<Result>.makeStream()
  let tasks = works.map { work in
    Task { _ = continuation.yield(await work()) }
  }
  defer { for task in tasks { task.cancel() } }
  for await result in results { return result }
  // This task was cancelled.
  return nil
}

/// What a work brings, unless it takes too long.
///
/// - Parameter presence: of the bus that it needs. While that is looked for, the limit does not run, and it begins anew
///   when the bus is there again: the work has to end by itself when the bus is not found.
/// - Throws: `unreachable` when it does.
func bounded<Answer: Sendable>(
  by limit: Duration, while presence: BusPresence? = nil,
  _ work: @escaping @Sendable () async throws(TribuneError) -> Answer
) async throws(TribuneError) -> Answer {
  let result = await first(
    of: { () async -> Result<Answer, TribuneError> in
      do throws(TribuneError) {
        return .success(try await work())
      } catch {
        return .failure(error)
      }
    },
    { () async -> Result<Answer, TribuneError> in
      if let presence { await presence.whole(limit) } else { await sleep(limit) }
      return .failure(TribuneError(.unreachable, "the bus has not answered within \(limit.inWords)"))
    })
  return try (result ?? .failure(TribuneError(.cancelled, "interrupted"))).get()
}

/// Sleeps, for less when the task is cancelled.
func sleep(_ duration: Duration) async {
  do {
    try await Task.sleep(for: duration)
  } catch {
    // Only cancellation ends it early, and whoever cancelled does not wait for it.
    return
  }
}

extension Duration {
  /// As systemd.time(7) writes it.
  var inWords: String {
    TimeSpan(microseconds: max(0, wholeMicroseconds)).description
  }
}
