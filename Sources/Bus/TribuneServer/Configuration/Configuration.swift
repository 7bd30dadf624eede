// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribunePolicy
package import TribuneProtocols
import TribuneWire

/// The settings of an operator. Every property starts with its default. `sections` has the key of each in
/// `tribuned.conf`; config/tribuned.conf explains the keys.
nonisolated package struct Configuration: Equatable, Sendable {
  /// The section of the same name.
  package struct Queue: Equatable, Sendable {
    package var highMarkBytes = 1 << 20
    package var lowMarkBytes = 256 << 10
    package var hardLimitBytes = 64 << 20
    package var paceMaxNanoseconds: UInt64 = 100_000_000
    /// For all queues together.
    package var memoryMaxBytes = 1 << 30
  }

  /// The section of the same name.
  package struct Notifications: Equatable, Sendable {
    /// For one suspended connection.
    package var bufferMaxBytes = 1 << 20
    package var retainedMaxBytes = 32 << 20
  }

  // [Bus]
  package var connectionsMax = 16_384
  package var registrationsMax = 65_536
  package var payloadMaxBytes = 16 << 20
  /// For one connection, as are the two that follow.
  package var observationsMax = 4_096
  package var delegatesMax = 4_096
  package var queriesMax = 1_024
  package var helloTimeoutNanoseconds: UInt64 = 10_000_000_000
  /// Longest time from the first byte of a frame to its last.
  package var frameTimeoutNanoseconds: UInt64 = 60_000_000_000
  /// For all partial frames of more than 16 KiB together.
  package var partialFramesMemoryMaxBytes = 256 << 20
  /// For one of the two segments that hold the write-ahead log in turn.
  package var logMaxBytes = 64 << 20

  package var queue = Queue()
  package var notifications = Notifications()

  // [Delegation]
  package var delegateTimeoutNanoseconds: UInt64 = 5_000_000_000
  package var deadlineNanoseconds: UInt64 = 30_000_000_000
  package var deadlineMaxNanoseconds: UInt64 = 3_600_000_000_000

  /// Without a key: see `BusLimits`.
  package var questionsAtATime = BusLimits().questionsAtATime

  /// The users who may override, and the `[Query …]` sections.
  package var policy = BusPolicy()

  /// As how many users one counts in shares, by its id: the `[User …]` sections.
  package var weights: [UInt32: Int] = [:]

  /// The files of `policy.d`; nil if there are none.
  package var access: Policy?

  /// The `[Object …]` sections, each pattern once, in the order of the sections.
  package var objects: [ObjectRule] = []
  /// The files of `protocols.d`.
  package var protocolSources: [ProtocolSource] = []

  // [Socket]
  /// Permission bits of a socket that the daemon creates itself.
  package var socketMode: UInt32 = 0o666

  // [Log]
  package var logLevel = Log.Level.info

  /// The defaults of the system's bus.
  package init() {}

  /// The defaults of a user's own bus.
  package static var forUser: Configuration {
    var configuration = Configuration()
    configuration.socketMode = 0o600
    return configuration
  }
}
