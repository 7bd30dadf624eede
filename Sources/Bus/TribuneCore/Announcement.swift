// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package enum Announcement {
  case didConnect(ConnectionID, PeerIdentity)
  /// `reason` is why the bus ended the connection. It is nil if the client ended the connection.
  case didDisconnect(ConnectionID, PeerIdentity, reason: ErrorCode?)
  case didAttach(DelegateRegistration)
  case didDetach(DelegateRegistration)
  case didTake(HoldEntry)
  case didChange(HoldEntry)
  case didRelease(HoldEntry, isExpired: Bool)
  case didConclude(QueryEnding)
  case didBegin(QueryEntry)
  case didEnd(QueryEntry)
  /// A place in the line of those that wait to begin has ended.
  case didStopWaiting(QueryEntry)
  /// The bus announces this after a reload of the configuration, and after a restart of the bus.
  case didReload
  case willStop
}

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
