// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A connection to the bus: tells, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Dropping the last reference to it and to
/// what it gave out ends it as ``close()`` does, without waiting.
///
/// **When the bus is restarted.** A bus that hands its connections on to the next goes on as if nothing had been, and
/// nobody here notices. When the connection is lost nevertheless, because the bus is gone or was killed at a bad
/// moment, this one connects again by itself, and registers again what is registered: observations, delegates, holds,
/// declarations, monitors, and whether it is suspended.
///
/// - What the bus may have taken and has not answered fails with `connectionLost`: nobody knows what came of it. What
///   it cannot have taken waits, and so does what is asked meanwhile; a query or an awaited post at most until its own
///   deadline. A ``post(_:object:userInfo:options:)`` that had been sent may be lost without a word, as always:
///   ``postAcknowledged(_:object:userInfo:options:)`` knows.
/// - Questions that are being answered are over (``Conclusion/Ending/cancelled``), and their answers go nowhere.
/// - Sequences and delegates are told what was missed (``Delivery/lost(_:)``, ``Delivery/interrupted``).
/// - Ids of the connection, of delegates and of holds change.
///
/// It ends, as it does for every other error, if there is no bus again in time, or if that refuses what was registered:
/// then nothing is as it seems, and its owner has to know.
public final class Connection: Sendable {
  /// The connection's id, `:N`: a number that no other connection of that bus ever has. It changes when the
  /// connection was interrupted.
  public var id: String { identity.connection.description }
  /// The bus at the other end.
  public var bus: BusInfo { identity.bus }

  let link: Link

  init(link: Link) { self.link = link }

  private var identity: LinkState.Identity {
    guard let identity = link.state.withLock({ $0.identity }) else {
      preconditionFailure("nobody has a connection before the bus has welcomed it")
    }
    return identity
  }

  deinit { link.abandon() }

  /// Connects to a bus.
  ///
  /// - Parameters:
  ///   - address: where it listens; by default what ``Address/resolve()`` finds.
  ///   - limit: how long a bus that listens may take to say hello. One that is being restarted, or that hangs and is
  ///     about to be replaced, keeps who connects waiting at its socket.
  ///   - patience: how long a bus is looked for at the same address when the connection is lost later on, each time;
  ///     nothing means never. The first connection is tried again only if the bus ends before it has answered at all.
  ///   - events: told when the connection is lost and when there is one again; runs on the connection's own thread and
  ///     must not block.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`, `limitExceeded`, `cancelled`;
  ///   `protocolViolation` when it is no bus that answers.
  public static func connect(
    to address: Address? = nil, within limit: Duration = .seconds(30),
    reconnectingFor patience: Duration = .seconds(10),
    events: (@Sendable (ConnectionEvent) -> Void)? = nil
  ) async throws(TribuneError) -> Connection {
    let address = if let address { address } else { try Address.resolve() }
    return try await Link.connect(to: address, within: limit, reconnectingFor: patience, events: events)
  }

  /// Returns when the connection has ended: why, or nil after ``close()``; nil too when the task is cancelled.
  public func closed() async -> TribuneError? {
    await link.ended()
  }

  /// Whether the connection has ended. One that is interrupted has not.
  public var hasEnded: Bool {
    link.state.withLock { if case .ended = $0.phase { true } else { false } }
  }

  /// Writes what was posted, then ends the connection; returns when it has ended.
  ///
  /// Sequences end cleanly, what was asked and is not answered fails with `connectionLost`. A bus that does
  /// not read for 5 seconds is not waited for longer, nor is one that is gone and for which something waits.
  public func close() async {
    await link.close()
  }
}
