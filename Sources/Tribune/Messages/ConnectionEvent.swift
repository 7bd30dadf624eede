// SPDX-License-Identifier: Apache-2.0

/// What happens to a connection besides what comes over it.
public enum ConnectionEvent: Equatable, Sendable {
  /// The connection to the bus was lost, and the bus is looked for.
  case disconnected(TribuneError)
  /// There is a connection to a bus again, with another id, and everything that was registered is registered.
  ///
  /// `lost` is how many notifications this connection missed in between, which its sequences and delegates are told
  /// with ``Delivery/lost(_:)``; nil when the bus could not say, which they are told with ``Delivery/interrupted``.
  case reconnected(lost: UInt64?)
}
