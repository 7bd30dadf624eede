// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A connection to the bus, over which a program posts, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Every request can throw `connectionLost`. It can also
/// throw `cancelled`, unless its documentation says otherwise. The documentation of a request lists further errors
/// (``TribuneError/Code``).
///
/// If the program releases its last reference to the connection and to all objects that the connection returned, the
/// connection ends as by ``close()``, but without waiting.
///
/// **When the bus is restarted.** A planned restart keeps connections open, and clients do not notice it. If the
/// connection is lost, for example because the bus was killed at a moment from which it cannot recover, this object
/// reconnects. It then renews all registrations: observations, delegates, holds, declarations, monitors, actions under
/// way, and suspension.
///
/// - If the bus may have received a request that it has not answered, the request fails with `connectionLost`: its
///   outcome is unknown. All other requests wait for the new connection; queries and awaited posts wait at most until
///   their deadlines.
/// - A ``post(_:object:userInfo:options:)`` that was already sent may be lost without notice. A post that still waits
///   is lost if its userInfo exceeds the new bus's limit. ``postAcknowledged(_:object:userInfo:options:)`` throws an
///   error in both cases.
/// - Open questions end as ``Conclusion/Ending/cancelled``, and the library discards their answers.
/// - Sequences and delegates receive reports of missed notifications (``Delivery/lost(_:)``, ``Delivery/interrupted``).
/// - The ids of the connection, of delegates and of holds change.
///
/// If the bus does not return in time, or if the new bus refuses a registration, the connection ends. The program thus
/// learns that its registrations are no longer in force.
public final class Connection: Sendable {
  /// The connection's id, such as `:7`. It changes after an interruption. The bus never uses an id again.
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
  ///   - address: the bus's address; by default ``Address/resolve()``, which also restricts who may serve the bus.
  ///   - limit: how long to wait for the bus's welcome. While a bus restarts, or hangs and is about to be replaced, new
  ///     connections wait at its socket.
  ///   - reconnectTimeout: how long to look for a lost bus at the same address. With zero, the connection does not
  ///     reconnect. With nil, it looks for ever, even if the bus stops (`shuttingDown`). The library retries the first
  ///     connection only if the bus closes it before the welcome.
  ///   - identifiesPosters: true if notifications must have their ``Notification/poster``. The bus sends the facts
  ///     about each poster once, so this costs nothing per notification.
  ///   - pace: how long the bus may pause this connection's posts for a slow observer. During a pause, messages wait in
  ///     this process, and ``post(_:object:userInfo:options:)`` suspends once their buffer is full.
  ///   - events: called when the connection is lost, and when it is back. This closure runs on the connection's thread
  ///     and must not block.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`; `notPermitted` when this process may not reach
  ///   the socket, or when an untrusted user serves the bus; `limitExceeded` when this process has no descriptor left;
  ///   `refused` when connect(2) fails for another reason; `protocolViolation` when the peer is not a bus. If the bus
  ///   refuses the connection: `limitExceeded`, `shuttingDown`, `tooSlow` (the bus waited too long for the hello) or
  ///   `connectionLost` (the bus was restarted).
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

  /// Waits for the end of the connection, and returns the reason. Returns nil after ``close()``, and if the task is
  /// cancelled.
  public func closed() async -> TribuneError? { await link.ended() }

  /// True once the connection has ended. An interruption is not an end.
  public var hasEnded: Bool {
    link.state.withLock { $0.hasEnded }
  }

  /// Writes the queued posts, ends the connection, and returns when it has ended.
  ///
  /// Sequences end without an error; unanswered requests fail with `connectionLost`. The call takes at most 5 s, even
  /// if the bus does not read, or is gone while posts still wait.
  public func close() async { await link.close() }
}

/// A change of a connection's state.
public enum ConnectionEvent: Equatable, Sendable {
  /// The connection is lost, and the client looks for the bus.
  case disconnected(TribuneError)
  /// The connection is back, with another id, and all its registrations are renewed.
  ///
  /// `lost` is the number of missed notifications, which sequences and delegates receive as ``Delivery/lost(_:)``. If
  /// the number is unknown, `lost` is nil, and they receive ``Delivery/interrupted``.
  case reconnected(lost: UInt64?)
}
