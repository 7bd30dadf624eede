// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// The latest known state of the bus.
nonisolated package struct BusPicture: Sendable {
  /// The reason that the bus is unavailable.
  package var absence: String? = "the bus has not been reached yet"
  package var status: BusStatus?
  package var connections: [ConnectionInfo] = []
  package var delegates: [DelegateInfo] = []
  package var holds: [HoldInfo] = []
  package var queries: [QueryInfo] = []
  /// Requests that the policy refused, for the operator.
  package var gaps: [String] = []

  package init() {}

  package var isConnected: Bool { absence == nil }

  /// Drops all state of the lost bus.
  mutating func lose(_ reason: String) {
    self = BusPicture()
    absence = reason
  }
}
