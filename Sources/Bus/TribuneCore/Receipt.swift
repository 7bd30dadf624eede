// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the bus did with a frame.
package enum Receipt {
  /// Clients send no frames of this kind to the core.
  case unknownKind
  /// The refusal is among the effects.
  case refused(WireError)
  case accepted(Acceptance)
}

package struct Acceptance {
  /// Given to the frame's query.
  package internal(set) var query: QueryID?
  /// Given to the frame's delegate or hold.
  package internal(set) var delegate: DelegateID?
  /// False for a delegate that was attached before under another serial.
  package internal(set) var isRegistered = false
  /// What decided about the frame and is neither in it nor in earlier frames: a replay needs it.
  package internal(set) var context: ByteBuffer?
  /// Bytes of the context that count in the share of the user.
  var chargedLength = 0
}
