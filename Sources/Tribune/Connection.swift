// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A connection to the bus: tells, asks, observes and answers.
///
/// Any number of tasks may use one connection at the same time. Dropping the last reference to it and to
/// what it gave out ends it as ``close()`` does, without waiting.
public final class Connection: Sendable {
  /// The connection's id, `:N`: a number that no other connection ever has.
  public let id: String
  /// The bus at the other end.
  public let bus: BusInfo

  let link: Link

  init(link: Link, id: String, bus: BusInfo) {
    self.link = link
    self.id = id
    self.bus = bus
  }

  deinit { link.abandon() }

  /// Connects to a bus.
  ///
  /// - Parameter address: where it listens; by default what ``Address/resolve()`` finds.
  /// - Throws: `unreachable`, `invalidAddress`, `unsupportedVersion`, `limitExceeded`, `cancelled`;
  ///   `protocolViolation` when it is no bus that answers.
  public static func connect(to address: Address? = nil) async throws(TribuneError) -> Connection {
    if let address {
      try await Link.connect(to: address)
    } else {
      try await Link.connect(to: try Address.resolve())
    }
  }

  /// Returns when the connection has ended: why, or nil after ``close()``; nil too when the task is cancelled.
  public func closed() async -> TribuneError? {
    await link.ended()
  }

  /// Writes what was posted, then ends the connection; returns when it has ended.
  ///
  /// Sequences end cleanly, what was asked and is not answered fails with `connectionLost`. A bus that does
  /// not read for 5 seconds is not waited for longer.
  public func close() async {
    await link.close()
  }
}
