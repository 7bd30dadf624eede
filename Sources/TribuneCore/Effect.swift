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
  /// From now on this is retained, instead of what was of that name and object.
  case kept(RetainedNotification)
  /// What was retained of that name and object is so no more.
  case forgotten(name: String, object: String)
  /// This one, of that number, waits for the bus to be idle.
  case waiting(ByteSlice, number: UInt64, from: ConnectionID, uid: UInt32)
  /// It waits no more: it is delivered, or another one has taken its place.
  case waitsNoMore(UInt64)
  /// So many that were held for a connection, after the number of what was dropped for want of room.
  case held(ConnectionSlot, [ByteSlice], count: UInt64, lost: UInt64)
  /// One of the snapshot that an observation wanted. The tail is name, object and userInfo.
  case retained(ConnectionSlot, Serial, sender: ConnectionID, Retained, QueryTail)
  /// Whom an awaited post has waited for. The tail is its name and object, for those who watch; nil if nobody does.
  case awaited(ConnectionSlot, Serial, Awaited, QueryTail?)
}

extension Effect {
  /// The connection that it is for; nil for what is for nobody in particular.
  package var slot: ConnectionSlot? {
    switch self {
    case .spent, .announcement, .notification, .kept, .forgotten, .waiting, .waitsNoMore: nil
    case .okay(let slot, _, _), .refusal(let slot, _, _), .question(let slot, _, _, _, _),
      .progress(let slot, _, _, _, _), .verdict(let slot, _, _, _), .concluded(let slot, _, _, _),
      .ended(let slot, _, _), .held(let slot, _, _, _), .retained(let slot, _, _, _, _),
      .awaited(let slot, _, _, _):
      slot
    }
  }
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
