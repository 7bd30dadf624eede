// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The state that all parts of the server share: the configuration in force, the time, deadlines, and the log.
final class ServerContext {
  let log: Log
  var configuration: Configuration
  /// The time of this loop iteration.
  private(set) var now: Instant
  let timeouts = Cell(Timeouts())
  let statistics = Cell(Statistics())

  init(_ configuration: Configuration, log: Log) {
    self.configuration = configuration
    self.log = log
    now = Instant(nanoseconds: SystemClock.monotonicNanoseconds)
  }

  func readClock() { now = Instant(nanoseconds: SystemClock.monotonicNanoseconds) }

  func schedule(_ kind: Timeouts.Kind, _ token: WatchToken, afterNanoseconds delay: UInt64) {
    timeouts.value.insert(kind, token, due: now.advanced(byNanoseconds: delay))
  }
}
