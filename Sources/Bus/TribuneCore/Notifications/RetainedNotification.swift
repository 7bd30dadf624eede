// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A retained notification. It is a class, because a snapshot can refer to a notification that is replaced
/// before the bus sends the snapshot.
package final class RetainedNotification {
  package let tail: QueryTail
  package let sender: ConnectionID
  package let peer: PeerIdentity
  let uid: UInt32
  package let posted: Instant
  /// True if the notification lasts only as long as its poster's connection.
  let isBound: Bool
  var number: UInt64 = 0

  init(
    tail: QueryTail, sender: ConnectionID, peer: PeerIdentity, uid: UInt32, posted: Instant, isBound: Bool
  ) {
    (self.tail, self.sender, self.peer) = (tail, sender, peer)
    (self.uid, self.posted, self.isBound) = (uid, posted, isBound)
  }

  var cost: Int { Self.cost(of: tail, from: peer) }

  /// The bytes counted for each notification, and again for each token of its name, because each token can
  /// need a node in the tree.
  private static var overhead: Int { 256 }

  static func cost(of tail: QueryTail, from peer: PeerIdentity) -> Int {
    tail.slice.weight + overhead * (1 + tail.slice.bytes.extracting(first: tail.nameLength).tokenCount)
      + peer.units.system.utf8.count + peer.units.user.utf8.count
  }

  func entry(at now: Instant) -> RetainedEntry {
    RetainedEntry(
      connection: sender, uid: uid, name: name, object: object,
      length: UInt32(clamping: tail.slice.weight - tail.nameLength - tail.objectLength),
      age: now.nanoseconds(since: posted) / 1000)
  }
}
