// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A connection to the bus: posts, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Releasing the last reference to it and to the objects
/// that it returned ends it as ``close()`` does, without waiting.
///
/// **When the bus is restarted.** A planned restart keeps connections open, and clients do not notice it. If the
/// connection is lost nevertheless, because the bus is gone or was killed at a bad moment, this object reconnects by
/// itself. It then registers again what was registered: observations, delegates, holds, declarations, monitors, and
/// whether it is suspended.
///
/// - A request that the bus may have received and has not answered fails with `connectionLost`: its outcome is unknown.
///   A request that the bus cannot have received waits for the new connection, and so does a new one; queries and
///   awaited posts wait at most until their own deadlines. A ``post(_:object:userInfo:options:)`` that was already sent
///   may be lost without notice, as always, and one that waits is, if its userInfo is over the new bus's limit;
///   ``postAcknowledged(_:object:userInfo:options:)`` would report it.
/// - Questions that are being answered are over (``Conclusion/Ending/cancelled``), and their answers are discarded.
/// - Sequences and delegates learn what was missed (``Delivery/lost(_:)``, ``Delivery/interrupted``).
/// - The ids of the connection, of delegates and of holds change.
///
/// If no bus is back in time, or if the new bus refuses a registration, the connection ends, as it does for every
/// other error: its owner must know that its registrations are no longer in force.
public final class Connection: Sendable {
  /// The connection's id, `:N`: a number that no other connection of that bus ever has. It changes after an
  /// interruption.
  public var id: String { session.connection.description }
  /// The bus at the other end.
  public var bus: BusInfo { session.bus }

  let link: Link

  init(link: Link) { self.link = link }

  var session: LinkState.Session {
    guard let session = link.state.withLock({ $0.session }) else {
      preconditionFailure("a Connection was made before the welcome of the bus")
    }
    return session
  }

  deinit { link.abandon() }

  /// Connects to a bus.
  ///
  /// - Parameters:
  ///   - address: the address of the bus; by default ``Address/resolve()``, which says whose bus is accepted.
  ///   - limit: the time limit for the welcome of a bus that listens. While a bus restarts, or hangs and is about to be
  ///     replaced, new connections wait at its socket.
  ///   - reconnectTimeout: how long to look for a bus at the same address when the connection is lost; zero for never,
  ///     nil for ever: then a bus that stops (`shuttingDown`) does not end the connection, either. The first
  ///     connection is tried again only if the bus closes it before its welcome.
  ///   - identifiesPosters: whether the bus tells who posts (``Notification/poster``). It does so once for each
  ///     connection that posts, so it costs nothing for each notification.
  ///   - events: called when the connection is lost and when it is back; runs on the connection's own thread and must
  ///     not block.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`, `cancelled`; `protocolViolation` when the peer is
  ///   not a bus; from a bus that refuses the connection, `limitExceeded`, `shuttingDown`, `tooSlow` (it waited too long
  ///   for the hello) or `connectionLost` (it was restarted meanwhile).
  public static func connect(
    to address: Address? = nil, within limit: Duration = .seconds(30),
    reconnectingFor reconnectTimeout: Duration? = .seconds(10),
    identifyingPosters identifiesPosters: Bool = false,
    events: (@Sendable (ConnectionEvent) -> Void)? = nil
  ) async throws(TribuneError) -> Connection {
    let address = if let address { address } else { try Address.resolve() }
    return try await Link.connect(
      to: address, within: limit, reconnectingFor: reconnectTimeout, identifyingPosters: identifiesPosters,
      events: events)
  }

  /// Returns the reason when the connection has ended; nil after ``close()``, and when the task is cancelled.
  public func closed() async -> TribuneError? { await link.ended() }

  /// Whether the connection has ended. An interrupted connection has not.
  public var hasEnded: Bool {
    link.state.withLock { $0.hasEnded }
  }

  /// Writes what was posted, then ends the connection; returns when it has ended.
  ///
  /// Sequences end without an error; unanswered requests fail with `connectionLost`. Closing waits at most 5 s for a
  /// bus that does not read, or that is gone while posts still wait for it.
  public func close() async { await link.close() }
}

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
