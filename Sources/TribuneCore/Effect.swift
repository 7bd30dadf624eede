// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the server has to send because of an event, in the order in which it must be sent.
package enum Effect {
  /// What is left where an effect was taken out.
  case spent
  case okay(ConnectionSlot, Serial, Okay)
  /// The frame of this serial is refused; the connection goes on.
  case refusal(ConnectionSlot, Serial, WireError)
  /// A question for a delegate. The tail is name, object and userInfo.
  case question(ConnectionSlot, Serial, asker: ConnectionID, Question, QueryTail)
  /// The tail is there for those who watch; nil if nobody does.
  case progress(ConnectionSlot, Serial, Progress, status: String, QueryTail?)
  /// The tail is what is kept of the query's, for those who watch.
  case verdict(ConnectionSlot, Serial, Decision, QueryTail)
  /// The tail is there for those who watch; nil if nobody does.
  case concluded(ConnectionSlot, Serial, Concluded, QueryTail?)
  /// A registration has ended that its connection did not take back.
  case ended(ConnectionSlot, Serial, Ended)
  /// For everyone who observes it.
  case announcement(Announcement)
  /// A notification for the connections that receive it now.
  case notification(ByteSlice, to: [Receiver], from: Poster)
  /// So many that were held for a connection, after the number of what was dropped for want of room.
  case held(ConnectionSlot, [ByteSlice], count: UInt64, lost: UInt64)
  /// One of the snapshot that an observation wanted. The tail is name, object and userInfo.
  case retained(ConnectionSlot, Serial, sender: ConnectionID, Retained, QueryTail)
  /// Whom an awaited post has waited for. The tail is its name and object, for those who watch; nil if nobody does.
  case awaited(ConnectionSlot, Serial, Awaited, QueryTail?)
}

/// A verdict, with what else is worth knowing about it.
package struct Decision {
  package let verdict: Verdict
  /// Which of its outcomes are vetoes: the failure policy decides for those that broke.
  package let vetoes: OutcomePlaces
  package let mode: QueryMode
  package let asker: ConnectionID
  package let askerPeer: PeerIdentity
  /// Why vetoes were to be overridden; empty unless they were.
  package let overrideReason: String
  /// From the ask to the verdict.
  package let elapsedNanoseconds: UInt64
}

/// Name, object and userInfo of a query, as they lay in its frame.
package struct QueryTail {
  package let slice: ByteSlice
  package let nameLength: Int
  package let objectLength: Int

  package var payloadLength: Int { slice.count - nameLength - objectLength }
}
