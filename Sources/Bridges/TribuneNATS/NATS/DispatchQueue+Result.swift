// SPDX-License-Identifier: Apache-2.0

import Dispatch

extension DispatchQueue {
  nonisolated func result<Success: Sendable, Failure: Error>(
    of work: @escaping @Sendable () throws(Failure) -> Success
  ) async -> Result<Success, Failure> {
    await withCheckedContinuation { continuation in
      async { continuation.resume(returning: Result(catching: work)) }
    }
  }
}
