// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribunePolicy
package import TribuneProtocols
import TribuneWire

/// The operator's settings, with their defaults. config/tribuned.conf explains them.
nonisolated package struct Configuration: Equatable, Sendable {
  package struct Queue: Equatable, Sendable {
    package var highMarkBytes = 1 << 20
    package var lowMarkBytes = 256 << 10
    package var hardLimitBytes = 64 << 20
    package var paceMaxNanoseconds: UInt64 = 100_000_000
    /// For all queues together.
    package var memoryMaxBytes = 1 << 30
  }

  package struct Notifications: Equatable, Sendable {
    /// For the buffer of one suspended connection.
    package var bufferMaxBytes = 1 << 20
    package var retainedMaxBytes = 32 << 20
  }

  // [Bus]
  package var connectionsMax = 16_384
  package var registrationsMax = 65_536
  package var payloadMaxBytes = 16 << 20
  /// For one connection. The same applies to `delegatesMax` and `queriesMax`.
  package var observationsMax = 4_096
  package var delegatesMax = 4_096
  package var queriesMax = 1_024
  package var helloTimeoutNanoseconds: UInt64 = 10_000_000_000
  /// The longest time from a frame's first byte to its last.
  package var frameTimeoutNanoseconds: UInt64 = 60_000_000_000
  /// For all partial frames of more than 16 KiB together.
  package var partialFramesMemoryMaxBytes = 256 << 20
  /// For the entries that `Compactor` admits, in one of the log's two segments.
  package var logMaxBytes = 64 << 20

  package var queue = Queue()
  package var notifications = Notifications()

  // [Delegation]
  package var delegateTimeoutNanoseconds: UInt64 = 5_000_000_000
  package var deadlineNanoseconds: UInt64 = 30_000_000_000
  package var deadlineMaxNanoseconds: UInt64 = 3_600_000_000_000

  // These two limits of `BusLimits` have no setting, so operators cannot change them.
  package var questionsAtATime = BusLimits().questionsAtATime
  package var outcomeIdentitiesMax = BusLimits().outcomeIdentitiesMax

  package var policy = BusPolicy()

  /// Share weights by user id, from the `[User …]` sections.
  package var weights: [UInt32: Int] = [:]

  package var access: Policy?

  /// One rule for each pattern of the `[Object …]` sections, in the order of their last `Protocol=`.
  package var objects: [ObjectRule] = []
  package var protocolSources: [ProtocolSource] = []

  // [Socket]
  package var socketMode: UInt32 = 0o666

  // [Log]
  package var logLevel = Log.Level.info

  package var isForUser = false

  package init() {}

  package static var forUser: Configuration {
    var configuration = Configuration()
    configuration.isForUser = true
    configuration.socketMode = 0o600
    return configuration
  }
}
