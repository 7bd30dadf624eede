// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// The bus as it was when it was last asked.
nonisolated package struct BusPicture: Sendable {
  /// Why there is none.
  package var absence: String? = "the bus has not been reached yet"
  package var status: BusStatus?
  package var connections: [ConnectionInfo] = []
  package var delegates: [DelegateInfo] = []
  package var holds: [HoldInfo] = []
  package var queries: [QueryInfo] = []
  /// What is not allowed, for the operator.
  package var gaps: [String] = []

  package init() {}

  package var isConnected: Bool { absence == nil }

  /// Nothing of a bus that is gone is shown.
  mutating func lose(_ reason: String) {
    self = BusPicture()
    absence = reason
  }
}
