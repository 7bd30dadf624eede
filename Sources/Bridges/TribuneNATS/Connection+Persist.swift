// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

/// What a gateway does on a bus from the moment that it has connected.
enum BusWork: CaseIterable {
  case exports, durableExports, retained, leases, scopes
}

typealias BusTries = FirstTries<BusWork>

extension Connection {
  /// Does what the policy of the bus may not allow yet: tries again until it is done, or the connection has ended.
  ///
  /// - Parameter lack: what is missing meanwhile. The journal has it once.
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
