// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The result of `Bus.receive` for a frame.
package enum Receipt {
  /// The core does not accept frames of this kind.
  case unknownKind
  /// The bus refused the frame, and has also emitted a `refusal` effect.
  case refused(WireError)
  case accepted(Acceptance)
}

package struct Acceptance {
  /// The id of the query or the action that the frame began.
  package internal(set) var query: QueryID?
  /// The id of the delegate or the hold that the frame registered.
  package internal(set) var delegate: DelegateID?
  package internal(set) var isRegistered = false
  /// The encoded `LoggedContext` of the frame. The log must store this context with the frame for a replay.
  package internal(set) var context: ByteBuffer?
  /// The bytes of `context` that count in the user's share of the log.
  var chargedLength = 0
}
