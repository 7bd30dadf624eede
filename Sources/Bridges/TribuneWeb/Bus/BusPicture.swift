// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// The latest known state of the bus.
nonisolated package struct BusPicture: Sendable {
  package var absence: String? = "the bus has not been reached yet"
  package var status: BusStatus?
  package var connections: [ConnectionInfo] = []
  package var delegates: [DelegateInfo] = []
  package var holds: [HoldInfo] = []
  package var queries: [QueryInfo] = []
  /// Texts for people about the information that the policy withholds from this program.
  package var gaps: [String] = []

  package init() {}

  package var isConnected: Bool { absence == nil }

  mutating func lose(_ reason: String) {
    self = BusPicture()
    absence = reason
  }
}
