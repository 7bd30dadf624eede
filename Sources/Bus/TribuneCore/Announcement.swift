// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A notification that the bus itself posts about its own state, if any connection observes it.
package enum Announcement {
  case didConnect(ConnectionID, PeerIdentity)
  /// The reason is nil unless the bus ended the connection.
  case didDisconnect(ConnectionID, PeerIdentity, reason: ErrorCode?)
  case didAttach(DelegateRegistration)
  case didDetach(DelegateRegistration)
  case didTake(HoldEntry)
  /// Its reason has changed.
  case didChange(HoldEntry)
  case didRelease(HoldEntry, isExpired: Bool)
  case didConclude(QueryEnding)
  /// The configuration was read, by a reload or by a bus that continues where another one ended.
  case didReload
  /// The last announcement.
  case willStop
}

/// How a query ended, for observers that had no part in it.
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
