// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An action under way, or one that a client waits to begin, as the bus sees it.
public struct ActionInfo: Hashable, Sendable {
  public enum Stage: String, Sendable {
    case underWay
    /// The client waits to begin the action.
    case waiting
    /// The client waits to begin the action before all holds that came after this claim.
    case claiming
  }

  /// The id of the query that allowed the action; a new id if the action began without a query on this bus.
  /// The bus never uses an id again.
  public var query: UInt64
  /// The question's name, such as `backup.shouldPrune`.
  public var name: String
  /// The object of the action; empty if the action is about all objects.
  public var object: String
  /// The id of the connection that began the action, such as `:7`.
  public var connection: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  /// The time since the action began, or since the client waits.
  public var age: Duration
  public var stage: Stage
}

extension ActionInfo {
  /// Nil for a query.
  init?(_ entry: QueryEntry) {
    let stage: Stage
    switch entry.stage {
    case .underWay: stage = .underWay
    case .waiting: stage = .waiting
    case .claiming: stage = .claiming
    case .asked: return nil
    }
    self.init(
      query: entry.id.rawValue, name: entry.name, object: entry.object,
      connection: entry.connection.description, pid: Int32(clamping: entry.peer.pid), uid: entry.peer.uid,
      process: entry.peer.process, units: Units(entry.peer.units),
      age: .microseconds(Int64(clamping: entry.age)), stage: stage)
  }
}
