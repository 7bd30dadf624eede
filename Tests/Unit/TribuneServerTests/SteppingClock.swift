// SPDX-License-Identifier: Apache-2.0

import TribuneCore

@testable import TribuneServer

/// A clock that goes on with each look at it, for a bus whose work seems to take time.
@MainActor
final class SteppingClock {
  /// Nanoseconds between two looks.
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
