// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A notification that the bus posts about its own state, if any connection observes it.
package enum Announcement {
  case didConnect(ConnectionID, PeerIdentity)
  /// The reason is nil unless the bus ended the connection.
  case didDisconnect(ConnectionID, PeerIdentity, reason: ErrorCode?)
  case didAttach(DelegateRegistration)
  case didDetach(DelegateRegistration)
  case didTake(HoldEntry)
  case didChange(HoldEntry)
  case didRelease(HoldEntry, isExpired: Bool)
  case didConclude(QueryEnding)
  /// After a reload, or when a bus continues where another one ended.
  case didReload
  case willStop
}

/// The end of a query, as third parties observe it.
package struct QueryEnding {
  package let query: QueryID
  package let name: String
  package let object: String
  package let conclusion: ConclusionKind
  package let mode: QueryMode
  package let asker: ConnectionID
  package let askerPeer: PeerIdentity
  package let vetoCount: Int
  package let elapsedNanoseconds: UInt64
}
