// SPDX-License-Identifier: Apache-2.0

/// A change of a connection's state.
public enum ConnectionEvent: Equatable, Sendable {
  /// The connection was lost, and the client looks for the bus.
  case disconnected(TribuneError)
  /// The connection is back, with another id, and everything that was registered is registered again.
  ///
  /// `lost` is the number of notifications missed in between, which sequences and delegates receive as
  /// ``Delivery/lost(_:)``; nil when the bus could not tell, for which they receive ``Delivery/interrupted``.
  case reconnected(lost: UInt64?)
}
