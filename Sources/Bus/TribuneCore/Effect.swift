// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A step that the server must perform for the core, such as sending a frame. The server must perform effects
/// in their order. An optional `QueryTail` is for monitors, and is nil if the bus has no monitors.
package enum Effect {
  case okay(ConnectionSlot, Serial, Okay)
  /// The bus refuses a frame, or a `cancel` has ended the frame's query or wait. The connection stays open.
  case refusal(ConnectionSlot, Serial, WireError)
  case question(ConnectionSlot, Serial, asker: ConnectionID, Question, QueryTail)
  case progress(ConnectionSlot, Serial, Progress, status: String, QueryTail?)
  case verdict(ConnectionSlot, Serial, Decision, QueryTail)
  case concluded(ConnectionSlot, Serial, Concluded, QueryTail?)
  case late(ConnectionSlot, Serial, Late)
  /// A delegate was replaced. The bus does not emit this effect after a `cancel`.
  case ended(ConnectionSlot, Serial, Ended)
  case expired(ConnectionSlot, Serial, HoldEntry)
  /// A new policy does not permit these registrations, so the bus ends them. It emits no `ended` for them.
  case noLongerPermitted([(registration: RegistrationPlace, why: String)])
  case announcement(Announcement)
  case notification(ByteSlice, to: [Receiver], from: Poster)
  /// The bus now retains this notification, instead of any earlier one with the same name and object.
  case kept(RetainedNotification)
  case forgotten(name: String, object: String)
  case waiting(ByteSlice, number: UInt64, from: ConnectionID, uid: UInt32)
  case noLongerWaiting(UInt64)
  case buffered(ConnectionSlot, FlushedNotifications)
  /// The notifications are in the order of posting.
  case snapshot(ConnectionSlot, Serial, [RetainedNotification])
  case awaited(ConnectionSlot, Serial, Awaited, QueryTail?)
  /// The connection has ended an awaited observation. For each awaited post that the server has not sent to
  /// the connection yet, the server must check `Bus.isAbandoned`.
  case observesLess(ConnectionSlot)
}

package struct RegistrationPlace: Hashable {
  package let slot: ConnectionSlot
  package let serial: Serial

  package init(_ slot: ConnectionSlot, _ serial: Serial) { (self.slot, self.serial) = (slot, serial) }
}

extension Effect {
  package var slot: ConnectionSlot? {
    switch self {
    case .noLongerPermitted, .announcement, .notification, .kept, .forgotten, .waiting, .noLongerWaiting: nil
    case .okay(let slot, _, _), .refusal(let slot, _, _), .question(let slot, _, _, _, _),
      .progress(let slot, _, _, _, _), .verdict(let slot, _, _, _), .concluded(let slot, _, _, _),
      .ended(let slot, _, _), .expired(let slot, _, _), .late(let slot, _, _), .buffered(let slot, _),
      .snapshot(let slot, _, _),
      .awaited(let slot, _, _, _), .observesLess(let slot):
      slot
    }
  }
}

package struct Decision {
  package let verdict: Verdict
  /// The indices of the outcomes that are vetoes. If a delegate timed out, left or failed, the delegate's
  /// failure policy decides whether its outcome is a veto.
  package let vetoes: OutcomePlaces
  package let omittedVetoCount: Int
  package let mode: QueryMode
  package let asker: ConnectionID
  package let askerPeer: PeerIdentity
  package let overrideReason: String
  package let elapsedNanoseconds: UInt64
}

/// The name, object and userInfo of a frame, contiguous as in the frame.
package struct QueryTail {
  package let slice: ByteSlice
  package let nameLength: Int
  package let objectLength: Int

  package var payloadLength: Int { slice.count - nameLength - objectLength }
  package var nameText: String { String(repairing: name) }
  package var objectText: String { String(repairing: object) }

  /// The name and the object.
  var key: RawSpan {
    @_lifetime(borrow self) get { slice.bytes.extracting(first: nameLength + objectLength) }
  }

  var name: RawSpan {
    @_lifetime(borrow self) get { slice.bytes.extracting(first: nameLength) }
  }
  var object: RawSpan {
    @_lifetime(borrow self) get { slice.bytes.extracting(nameLength..<nameLength + objectLength) }
  }
}
