// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the bus itself posts about what it keeps, where somebody observes that.
package enum Announcement {
  case didConnect(ConnectionID, PeerIdentity)
  /// The reason is the bus's, where it was the bus that ended the connection.
  case didDisconnect(ConnectionID, PeerIdentity, reason: ErrorCode?)
  case didAttach(DelegateEntry)
  case didDetach(DelegateEntry)
  case didTake(HoldEntry)
  case didRelease(HoldEntry, isExpired: Bool)
  case didConclude(QueryEnding)
  /// The last of all.
  case willStop
}

/// How a query ended, for those who had no part in it.
package struct QueryEnding {
  package let query: QueryID
  package let name: String
  package let object: String
  package let conclusion: ConclusionKind
  package let mode: QueryMode
  package let asker: ConnectionID
  package let askerPeer: PeerIdentity
  package let vetoCount: Int
  /// From the ask to its end.
  package let elapsedNanoseconds: UInt64
}
