// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the bus did with a frame.
package enum Receipt {
  /// The core does not accept frames of this kind.
  case unknownKind
  /// The refusal is among the effects.
  case refused(WireError)
  case accepted(Acceptance)
}

package struct Acceptance {
  /// The id that the frame's query or action got.
  package internal(set) var query: QueryID?
  /// The id that the frame's delegate or hold got.
  package internal(set) var delegate: DelegateID?
  /// True if the frame has made a registration.
  package internal(set) var isRegistered = false
  /// Facts that decided about the frame, but are neither in it nor in earlier frames. A replay needs them.
  package internal(set) var context: ByteBuffer?
  /// The bytes of the context that count in the user's share.
  var chargedLength = 0
}
