// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

extension Connection {
  /// Does what the policy of the bus may not allow yet: tries again until it is done, or the connection has ended.
  ///
  /// - Parameters:
  ///   - work: what it is. With its first try, it is over among the first tries.
  ///   - lack: what is missing meanwhile. The journal has it once.
  func persist(
    _ work: FirstTries.Work, _ tries: FirstTries, lack: String,
    _ body: () async throws(TribuneError) -> Void
  ) async {
    await persist(lack: lack, tried: { tries.isOver(work) }, body)
  }

  /// The same for what is none of the first tries.
  func persist(
    lack: String, tried: () -> Void = {}, _ body: () async throws(TribuneError) -> Void
  ) async {
    defer { tried() }
    var isReported = false
    while true {
      do throws(TribuneError) {
        return try await body()
      } catch {
        tried()
        if hasEnded { return }
        if !isReported { ServiceLog.error("\(lack): \(error)") }
        isReported = true
      }
      await rest(for: .seconds(5))
    }
  }
}
