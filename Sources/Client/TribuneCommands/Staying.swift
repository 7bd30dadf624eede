// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

extension SignalWatch {
  /// SIGHUP also interrupts, because a command must not continue after its terminal has closed.
  static let interrupting = [Signals.interrupt, Signals.terminate, Signals.hangUp]
  /// The signals with which people and service managers end or notify a process.
  static let relayed = interrupting + [Signals.quit, Signals.user1, Signals.user2]

  /// Returns at the first signal. Must be called at most once.
  func interruption() async {
    for await _ in signals { return }
  }
}

/// Reads a sequence until it ends, until `show` has returned true `count` times, or until an interruption.
/// After an interruption, still reads the elements that wait in the sequence. Returns the exit status.
///
/// - Parameters:
///   - limit: reading ends after `span`, and throws `error`; nil for no limit.
///   - nextWaiting: the sequence's next element if it waits in this process, else nil. The task need not
///     suspend for such an element.
///   - cancel: ends the sequence after the elements that wait in it.
///   - show: shows an element. Must return true if the element counts toward `count`.
func stay<S: AsyncSequence & Sendable>(
  reading sequence: S, nextWaiting: @escaping @Sendable () -> S.Element? = { nil },
  until interruption: @escaping @Sendable () async -> Void, upTo count: Int64? = nil,
  within limit: (span: Duration, error: CommandError)? = nil, cancel: @escaping @Sendable () async -> Void,
  show: @escaping @Sendable (S.Element) async throws(CommandError) -> Bool
) async throws(CommandError) -> Int32 where S.Failure == TribuneError, S.Element: Sendable {
  let reading = Task { () async -> Result<Int32, CommandError> in
    var left = count
    do throws(TribuneError) {
      for try await first in sequence {
        var next: S.Element? = first
        while let element = next {
          do throws(CommandError) {
            if try await show(element), let before = left {
              if before == 1 { return .success(ExitStatus.success) }
              left = before - 1
            }
          } catch {
            return .failure(error)
          }
          next = nextWaiting()
        }
      }
      return .success(ExitStatus.success)
    } catch {
      return .failure(CommandError(error))
    }
  }
  let interrupted = { @Sendable () async -> Stop in
    await interruption()
    return .interrupted(nil)
  }
  let stop = await first(
    of: { () async -> Stop in .finished(await reading.value) },
    { () async -> Stop in
      guard let limit else { return await interrupted() }
      let late = { @Sendable () async -> Stop in
        await sleep(limit.span)
        return .interrupted(limit.error)
      }
      return await first(of: interrupted, late) ?? .interrupted(nil)
    })
  switch stop {
  case .finished(let result): return try result.get()
  case nil: return ExitStatus.success
  case .interrupted(let error):
    let rest = await first(
      of: { await reading.value },
      { () async -> Result<Int32, CommandError> in
        await cancel()
        // The program that reads the output may have stopped reading, so the wait is limited.
        await sleep(.seconds(2))
        return .success(ExitStatus.success)
      })
    if let error { throw error }
    return try (rest ?? .success(ExitStatus.success)).get()
  }
}

private enum Stop: Sendable {
  case finished(Result<Int32, CommandError>)
  case interrupted(CommandError?)
}
