// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A connection to the bus, over which a program posts, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Every request can throw `connectionLost`, and
/// also `cancelled` unless its documentation says otherwise. The documentation of a request lists further
/// errors (``TribuneError/Code``).
///
/// When the program has released the connection and all objects that the connection returned, the connection
/// ends in the background as by ``close()``.
///
/// **When the bus is restarted.** A planned restart keeps connections open, and clients do not notice it. A
/// connection can still be lost, for example when the bus is killed and cannot recover its state. Then this
/// object reconnects, and renews all registrations: observations, delegates, holds, declarations, monitors,
/// actions under way, and suspension.
///
/// - A pending request that the bus has possibly received fails with `connectionLost`, because the outcome is
///   unknown. Pending registrations do not fail: the library repeats them. Unsent requests wait for the new
///   connection. Queries and awaited posts wait at most until their deadlines.
/// - A ``post(_:object:userInfo:options:)`` that the library has already sent can be lost without notice. A
///   post that still waits in this process is lost if its userInfo exceeds the new bus's limit. To learn of
///   such a loss, use ``postAcknowledged(_:object:userInfo:options:)``, which throws an error in both cases.
/// - Open questions to delegates end as ``Conclusion/Ending/cancelled``. The library discards their answers.
/// - Sequences and delegates learn of missed notifications (``Delivery/lost(_:)``, ``Delivery/interrupted``).
/// - The ids of the connection, of delegates and of holds change.
///
/// If the library finds no bus within the time for reconnecting, or if the new bus refuses a registration,
/// the connection ends. The end tells the program that its registrations are no longer in force.
public final class Connection: Sendable {
  /// The connection's id, such as `:7`. The id changes after an interruption. The bus does not reuse an id
  /// while it runs, nor over restarts that keep its state. After a stop, ids begin again.
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
  ///   - address: the bus's address; nil for ``Address/resolve()``, which also limits who may serve the bus.
  ///   - limit: how long to wait for the bus's welcome. New connections wait at the bus's socket while the
  ///     bus restarts, or while the service manager replaces a hung bus. If an attempt fails, the library
  ///     tries again only in two cases: the socket's backlog is full, or the bus closes the connection before
  ///     the welcome.
  ///   - reconnectTimeout: how long to look for a lost bus at the same address. With zero, the connection
  ///     does not reconnect. With nil, the library looks for ever, even after the bus has stopped
  ///     (`shuttingDown`). With a time limit, a stop of the bus ends the connection.
  ///   - identifiesPosters: true to give notifications their ``Notification/poster``. The bus sends the facts
  ///     about a poster before the poster's first notification, not with every notification.
  ///   - pace: how long the bus may pause this connection's posts for a slow observer. During a pause, frames
  ///     wait in this process. Once they exceed 1 MiB, ``post(_:object:userInfo:options:)`` suspends.
  ///   - events: called when the connection is lost, and when the library has reconnected. This closure runs
  ///     on the connection's thread and must not block.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`; `notPermitted` when this process may
  ///   not reach the socket, or when an untrusted user serves the bus; `limitExceeded` when this process has
  ///   no descriptor left; `refused` when connect(2) fails for another reason; `protocolViolation` when the
  ///   peer is not a bus. If the bus refuses the connection: `limitExceeded`, `shuttingDown`, `tooSlow` (the
  ///   bus waited too long for the hello) or `connectionLost` (the bus was restarted).
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

  /// Waits for the end of the connection, and returns the reason. Returns nil after ``close()``, and if the
  /// task is cancelled.
  public func closed() async -> TribuneError? { await link.ended() }

  /// True once the connection has ended. An interruption is not an end.
  public var hasEnded: Bool {
    link.state.withLock { $0.hasEnded }
  }

  /// Writes the queued posts, ends the connection, and returns when the connection has ended.
  ///
  /// Sequences end without an error. Unanswered requests fail with `connectionLost`. The call returns within
  /// 5 s, even if the bus does not read, or is gone while posts still wait.
  public func close() async { await link.close() }
}

/// A change of a connection's state.
public enum ConnectionEvent: Equatable, Sendable {
  /// The connection is lost, and the library looks for the bus.
  case disconnected(TribuneError)
  /// The connection is back, with another id, and all its registrations are renewed.
  ///
  /// `lost` is the number of missed notifications; nil if unknown. Sequences and delegates receive this
  /// number as ``Delivery/lost(_:)``, or ``Delivery/interrupted`` for an unknown number.
  case reconnected(lost: UInt64?)
}
