// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What an `attach` takes from the configuration and the policy, which are others when it is replayed.
extension Bus {
  /// Appends the context of an `attach` that is about to be taken, for `setAttachContext`: the default time-out, and the
  /// delegates that it replaces.
  package mutating func appendContext(
    ofAttach frame: FrameView, from slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    buffer.append(limits.delegateTimeout)
    let replaced: [DelegateRegistration]
    do throws(WireError) {
      let isSet = try frame.decode(Attach.self).isSet
      replaced = isSet ? replaceable(of: String(repairing: frame.object), from: slot) : []
    } catch {
      // It will be refused.
      replaced = []
    }
    buffer.append(UInt32(replaced.count))
    for delegate in replaced { buffer.append(delegate.identity.id.rawValue) }
  }

  /// Sets the context for the `attach` that is replayed next.
  package mutating func setAttachContext(_ context: RawSpan) throws(WireError) {
    var reader = FieldReader(context)
    limits.delegateTimeout = try reader.integer()
    var replaced: Set<DelegateID> = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      replaced.insert(DelegateID(rawValue: try reader.integer()))
    }
    restoring.replaced = replaced
  }
}
