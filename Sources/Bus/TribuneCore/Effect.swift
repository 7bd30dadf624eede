// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Something that the server has to do because of an event. Effects must be performed in order.
package enum Effect {
  case okay(ConnectionSlot, Serial, Okay)
  /// The frame of this serial is refused; the connection stays open.
  case refusal(ConnectionSlot, Serial, WireError)
  /// A question for a delegate. The tail is name, object and userInfo.
  case question(ConnectionSlot, Serial, asker: ConnectionID, Question, QueryTail)
  /// The tail is for monitors; nil if there are none.
  case progress(ConnectionSlot, Serial, Progress, status: String, QueryTail?)
  /// The tail is what the query has kept of its tail, for monitors.
  case verdict(ConnectionSlot, Serial, Decision, QueryTail)
  /// The tail is for monitors; nil if there are none.
  case concluded(ConnectionSlot, Serial, Concluded, QueryTail?)
  /// The bus has ended a registration that its connection did not cancel.
  case ended(ConnectionSlot, Serial, Ended)
  /// For every connection that observes it.
  case announcement(Announcement)
  /// A notification for the connections that receive it now.
  case notification(ByteSlice, to: [Receiver], from: Poster)
  /// This notification is retained from now on. It replaces the one of the same name and object.
  case kept(RetainedNotification)
  /// The notification of that name and object is no longer retained.
  case forgotten(name: String, object: String)
  /// The post with this number waits for the bus to be idle.
  case waiting(ByteSlice, number: UInt64, from: ConnectionID, uid: UInt32)
  /// The post with this number no longer waits: it is delivered, or another one has replaced it.
  case noLongerWaiting(UInt64)
  /// `count` notifications that were buffered for a connection. The number of those lost for lack of space goes first.
  case buffered(ConnectionSlot, [ByteSlice], count: UInt64, lost: UInt64)
  /// One notification of the snapshot that an observation requested. The tail is name, object and userInfo.
  case retained(ConnectionSlot, Serial, sender: ConnectionID, PeerIdentity, Retained, QueryTail)
  /// The result of an awaited post. The tail is its name and object, for monitors; nil if there are none.
  case awaited(ConnectionSlot, Serial, Awaited, QueryTail?)
}

extension Effect {
  /// The connection that the effect is for; nil if it is not for a single connection.
  package var slot: ConnectionSlot? {
    switch self {
    case .announcement, .notification, .kept, .forgotten, .waiting, .noLongerWaiting: nil
    case .okay(let slot, _, _), .refusal(let slot, _, _), .question(let slot, _, _, _, _),
      .progress(let slot, _, _, _, _), .verdict(let slot, _, _, _), .concluded(let slot, _, _, _),
      .ended(let slot, _, _), .buffered(let slot, _, _, _), .retained(let slot, _, _, _, _, _),
      .awaited(let slot, _, _, _):
      slot
    }
  }
}

/// A verdict and its context.
package struct Decision {
  package let verdict: Verdict
  /// The outcomes that are vetoes. If a delegate timed out, left or failed, its failure policy decides.
  package let vetoes: OutcomePlaces
  /// Vetoes that the verdict does not list.
  package let omittedVetoCount: Int
  package let mode: QueryMode
  package let asker: ConnectionID
  package let askerPeer: PeerIdentity
  /// The reason given for overriding vetoes; empty if there is none.
  package let overrideReason: String
  /// From the ask to the verdict.
  package let elapsedNanoseconds: UInt64
}

/// Name, object and userInfo, contiguous as in the frame.
package struct QueryTail {
  package let slice: ByteSlice
  package let nameLength: Int
  package let objectLength: Int

  package var payloadLength: Int { slice.count - nameLength - objectLength }
  package var nameText: String { String(repairing: name) }
  package var objectText: String { String(repairing: object) }

  var name: RawSpan {
    @_lifetime(borrow self) get { slice.bytes.extracting(first: nameLength) }
  }
  var object: RawSpan {
    @_lifetime(borrow self) get { slice.bytes.extracting(nameLength..<nameLength + objectLength) }
  }
}
