// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Returns the result of the first task that finishes. The other tasks are cancelled but not awaited: a task
/// that ignores its cancellation must not keep a command from ending.
func first<Result: Sendable>(of works: (@Sendable () async -> Result)...) async -> Result? {
  let (results, continuation) = AsyncStream<Result>.makeStream()
  let tasks = works.map { work in
    Task { _ = continuation.yield(await work()) }
  }
  defer { for task in tasks { task.cancel() } }
  for await result in results { return result }
  return nil
}

/// - Parameter presence: if not nil, the limit starts again whenever a lost bus returns. While the bus is
///   lost, `work` has no limit.
func bounded<Answer: Sendable>(
  by limit: Duration, while presence: BusPresence? = nil,
  sleep: @escaping @Sendable (Duration) async -> Void = sleep,
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
      if let presence { await presence.uninterrupted(for: limit) } else { await sleep(limit) }
      return .failure(TribuneError(.unreachable, "the bus has not answered within \(limit.formatted)"))
    })
  return try (result ?? .failure(TribuneError(.cancelled, "interrupted"))).get()
}

/// Repeats `work` while `mayPass` accepts the error of `work`. The pauses grow from 10 ms to 1 s while there
/// is no bus, and to 10 s after other errors.
func tryUntilDone<Answer>(
  _ work: () async throws(TribuneError) -> Answer, while mayPass: (TribuneError) -> Bool
) async throws(TribuneError) -> Answer {
  var pause = Duration.milliseconds(10)
  while true {
    do throws(TribuneError) {
      return try await work()
    } catch {
      guard !Task.isCancelled, mayPass(error) else { throw error }
      await sleep(pause)
      pause = min(pause * 2, error.meansNoBus ? .seconds(1) : .seconds(10))
    }
  }
}

func sleep(_ duration: Duration) async {
  do {
    try await Task.sleep(for: duration)
  } catch {
    return
  }
}
