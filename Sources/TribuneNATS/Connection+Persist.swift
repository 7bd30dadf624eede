// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

extension Connection {
  /// Does what the policy of the bus may not allow yet: tries again until it is done, or the connection has ended.
  ///
  /// - Parameter lack: what is missing meanwhile. The journal has it once.
  func persist(lack: String, _ work: () async throws(TribuneError) -> Void) async {
    var isReported = false
    while true {
      do throws(TribuneError) {
        return try await work()
      } catch {
        if hasEnded { return }
        if !isReported { ServiceLog.error("\(lack): \(error)") }
        isReported = true
      }
      await rest(for: .seconds(5))
    }
  }
}
