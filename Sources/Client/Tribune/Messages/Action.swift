// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// An action under way, as returned by
/// ``Connection/begin(_:object:userInfo:deadline:mode:default:override:slots:parent:progress:)``.
///
/// The action lasts until ``end()``, or until the connection ends. It lasts even if the program does not keep
/// this object. After an interruption, the library reports the action to the bus again.
public final class Action: Sendable {
  /// The id of the query that allowed the action; 0 if no query allowed it.
  public let query: UInt64
  private let key: ActionKey
  private let serial: Serial
  private let connection: Connection
  /// The epoch (`LinkState.epoch`) of the socket on which the action's `begin` was the last frame (`isLast`).
  /// Nil if the connection may send further frames.
  private let lastEpoch: Int?

  init(query: UInt64, key: ActionKey, serial: Serial, connection: Connection, lastEpoch: Int? = nil) {
    (self.query, self.key, self.serial) = (query, key, serial)
    (self.connection, self.lastEpoch) = (connection, lastEpoch)
  }

  /// Tells the bus that the action has ended, whether it succeeded or failed. A second call has no effect.
  ///
  /// Cancelling the task does not stop the call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost`` if the connection, and with it the action, has ended.
  public func end() async throws(TribuneError) { try await connection.link.takeBack(serial) }

  /// Moves the action to the connection `other`, by the last frame that this process sends on `other`. A
  /// child process can then inherit the socket of `other`.
  package func move(to other: Connection) async throws(TribuneError) -> Action {
    let moved = try await other.begin(QueryID(rawValue: query), key, isLast: true)
    connection.link.forget(serial)
    return moved
  }

  /// Duplicates the connection's socket, for a child process.
  ///
  /// While the child has the duplicate, the action is under way, even if this process is killed. If the child
  /// sends anything over the duplicate, the bus ends the connection.
  ///
  /// - Returns: nil unless the action's `begin` was the last frame on the connection's current socket.
  package func duplicateSocket() throws(Errno) -> FileDescriptor? {
    try connection.link.duplicateSocket(lastOf: lastEpoch)
  }
}

struct ActionKey: Sendable {
  var name: String
  var object: String
}

extension Connection {
  /// Tells the bus that an action is under way, although no query on this bus has allowed it.
  ///
  /// - Parameter isLast: true if the connection sends no further frames, as after ``Action/move(to:)``.
  package func begin(
    unasked name: String, object: String, isLast: Bool
  ) async throws(TribuneError) -> Action {
    let key = ActionKey(name: try Checked.name(name), object: try Checked.object(object))
    return try await begin(QueryID(rawValue: 0), key, isLast: isLast)
  }

  /// Takes a place in the line of those that wait for a slot (`slots` of ``ask``), until ``Action/end()``. The
  /// bus lets those that came before go first.
  ///
  /// - Parameter claims: true if holds that come later do not veto this connection's queries.
  package func wait(
    toBegin name: String, object: String, claims: Bool
  ) async throws(TribuneError) -> Action {
    let key = ActionKey(name: try Checked.name(name), object: try Checked.object(object))
    return try await begin(
      QueryID(rawValue: 0), key, isLast: false, stage: claims ? .claiming : .waiting)
  }

  fileprivate func begin(
    _ query: QueryID, _ key: ActionKey, isLast: Bool, stage: ActionStage = .underWay
  ) async throws(TribuneError) -> Action {
    let epoch = link.epoch
    let serial = try await link.register(
      Begin(query: query, isLast: isLast, stage: stage), Link.Message(name: key.name, object: key.object),
      as: .action)
    return Action(
      query: query.rawValue, key: key, serial: serial, connection: self, lastEpoch: isLast ? epoch : nil)
  }
}
