// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A connection to the bus: posts, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Every request can throw `connectionLost` and, unless it
/// says otherwise, `cancelled`; its documentation lists further errors (``TribuneError/Code``). Releasing the last
/// reference to the connection and to the objects that it returned ends the connection as ``close()`` does, without
/// waiting.
///
/// **When the bus is restarted.** A planned restart keeps connections open, and clients do not notice it. If the bus
/// stops, or is killed at a moment that it cannot recover from, this object reconnects. It then renews all
/// registrations: observations, delegates, holds, declarations, monitors, and suspension.
///
/// - An unanswered request that the bus may have received fails with `connectionLost`: its outcome is unknown. New
///   requests, and old ones that the bus cannot have received, wait for the new connection; queries and awaited posts
///   wait at most until their deadlines. A ``post(_:object:userInfo:options:)`` that was already sent may be lost
///   without notice; a waiting one is lost if its userInfo is over the new bus's limit.
///   ``postAcknowledged(_:object:userInfo:options:)`` reports both.
/// - Open questions end as ``Conclusion/Ending/cancelled``, and their answers are discarded.
/// - Sequences and delegates learn of missed notifications (``Delivery/lost(_:)``, ``Delivery/interrupted``).
/// - The ids of the connection, of delegates and of holds change.
///
/// If the bus is not back in time, or if the new bus refuses a registration, the connection ends, so that its owner
/// learns that its registrations are no longer in force.
public final class Connection: Sendable {
  /// `:N`, which the bus never uses again. It changes after an interruption.
  public var id: String { session.connection.description }
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
  ///   - address: by default ``Address/resolve()``, which says whose bus is accepted.
  ///   - limit: how long to wait for the bus's welcome. New connections wait at the socket of a bus that restarts, or
  ///     that hangs and is about to be replaced.
  ///   - reconnectTimeout: how long to look for a lost bus at the same address; zero for never, nil for ever, even if
  ///     the bus stops (`shuttingDown`). This call itself tries again only if the bus closes the connection before its
  ///     welcome.
  ///   - identifiesPosters: true if notifications shall have their ``Notification/poster``. The bus sends the facts
  ///     about each poster once, so this costs nothing per notification.
  ///   - pace: how long this connection's posts wait for slow observers. Posts, and any other message behind them, wait
  ///     in this process, so ``post(_:object:userInfo:options:)`` waits once its buffer is full.
  ///   - events: called when the connection is lost and when it is back; runs on the connection's thread and must not
  ///     block.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`; `notPermitted` when this process may not reach the
  ///   socket, or another user serves the bus; `limitExceeded` when it has no descriptor left; `refused` when
  ///   connect(2) fails otherwise; `protocolViolation` when the peer is not a bus;
  ///   from a bus that refuses the connection, `limitExceeded`, `shuttingDown`, `tooSlow` (it waited too long for the
  ///   hello) or `connectionLost` (it was restarted).
  public static func connect(
    to address: Address? = nil, within limit: Duration = .seconds(30),
    reconnectingFor reconnectTimeout: Duration? = .seconds(10),
    identifyingPosters identifiesPosters: Bool = false, pace: Pace = .setting,
    events: (@Sendable (ConnectionEvent) -> Void)? = nil
  ) async throws(TribuneError) -> Connection {
    let address = if let address { address } else { try Address.resolve() }
    return try await Link.connect(
      to: address, within: limit, reconnectingFor: reconnectTimeout, identifyingPosters: identifiesPosters,
      pace: pace, events: events)
  }

  /// Returns the reason when the connection has ended; nil after ``close()``, and on cancellation.
  public func closed() async -> TribuneError? { await link.ended() }

  /// False while the connection is interrupted.
  public var hasEnded: Bool {
    link.state.withLock { $0.hasEnded }
  }

  /// Writes the posts, then ends the connection; returns when it has ended.
  ///
  /// Sequences end without an error; unanswered requests fail with `connectionLost`. Closing waits at most 5 s for a
  /// bus that does not read, or that is gone while posts still wait for it.
  public func close() async { await link.close() }
}

/// A change of a connection's state.
public enum ConnectionEvent: Equatable, Sendable {
  /// The client looks for the bus.
  case disconnected(TribuneError)
  /// The connection is back, with another id, and all its registrations are renewed.
  ///
  /// `lost` is the number of missed notifications, which sequences and delegates receive as ``Delivery/lost(_:)``;
  /// nil if unknown: then they receive ``Delivery/interrupted``.
  case reconnected(lost: UInt64?)
}
