// SPDX-License-Identifier: Apache-2.0

import TribuneCore

@testable import TribuneServer

/// Advances at each reading, as if the bus's work took time.
@MainActor
final class SteppingClock {
  /// Nanoseconds between two readings.
  var step: UInt64 = 0
  fileprivate weak var server: BusServer?
  private var passed: UInt64 = 0

  fileprivate func look() -> UInt64 {
    passed += step
    return (server?.context.now.nanoseconds ?? 0) + passed
  }
}

extension SteppedBus {
  convenience init(_ clock: SteppingClock) throws {
    try self.init(timeShares: TimeShares { MainActor.assumeIsolated { clock.look() } })
    clock.server = server
  }
}
