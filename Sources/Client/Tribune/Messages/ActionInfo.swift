// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An action under way, as the bus sees it.
public struct ActionInfo: Hashable, Sendable {
  /// The query that allowed it; never used again.
  public var query: UInt64
  /// The question's name, such as `backup.shouldPrune`.
  public var name: String
  /// Empty if it is about everything.
  public var object: String
  /// `:N`.
  public var connection: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  /// Since it began.
  public var age: Duration
}

extension ActionInfo {
  /// Nil if the query's action has not begun.
  init?(_ entry: QueryEntry) {
    guard entry.begun > 0 else { return nil }
    self.init(
      query: entry.id.rawValue, name: entry.name, object: entry.object,
      connection: entry.connection.description, pid: Int32(clamping: entry.peer.pid), uid: entry.peer.uid,
      process: entry.peer.process, units: Units(entry.peer.units),
      age: .microseconds(Int64(clamping: entry.begun)))
  }
}
