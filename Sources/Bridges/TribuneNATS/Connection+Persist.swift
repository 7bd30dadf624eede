// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

/// The work that the gateway begins on each new connection to the bus.
enum BusWork: CaseIterable {
  case exports, durableExports, retained, leases, scopes
}

typealias BusTries = FirstTries<BusWork>

extension Connection {
  /// Repeats `body` until it succeeds or the connection ends. After the first attempt, even if it failed,
  /// `work` is finished in `tries`. Only the first failure is logged, after `lack`, which tells the
  /// consequence, such as "nothing is exported".
  func persist(
    _ work: BusWork, _ tries: BusTries, lack: String,
    _ body: () async throws(TribuneError) -> Void
  ) async {
    await persist(lack: lack, tried: { tries.finish(work) }, body)
  }

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
