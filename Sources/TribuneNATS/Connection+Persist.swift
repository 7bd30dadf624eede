// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

extension Connection {
  /// Does what the policy of the bus may not allow yet: tries again until it is done, or the connection has ended.
  ///
  /// - Parameters:
  ///   - lack: what is missing meanwhile. The journal has it once.
  ///   - tried: called when it was tried once.
  func persist(
    lack: String, tried: () -> Void, _ work: () async throws(TribuneError) -> Void
  ) async {
    defer { tried() }
    var isReported = false
    while true {
      do throws(TribuneError) {
        return try await work()
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
