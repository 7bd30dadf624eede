// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What an `attach` takes from the configuration and the policy, which are others when it is replayed.
extension Bus {
  /// Appends the context of an `attach` that is about to be taken, for `setAttachContext`: the default time-out, and the
  /// delegates that it replaces, if it is to replace any.
  package mutating func appendContext(
    ofAttach frame: FrameView, from slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    buffer.append(limits.delegateTimeout)
    do throws(WireError) {
      guard try frame.decode(Attach.self).isSet else { return }
    } catch {
      // It will be refused.
      return
    }
    // The number says that there is such a list, even if it is empty.
    let replaced = replaceable(of: String(repairing: frame.object), from: slot)
    buffer.append(UInt32(replaced.count))
    for delegate in replaced { buffer.append(delegate.identity.id.rawValue) }
  }

  /// Sets the context for the `attach` that is replayed next. Version 0.1.0 has logged no list of delegates, or nothing:
  /// there, an `attach` replaced all delegates of its object.
  package mutating func setAttachContext(_ context: RawSpan) throws(WireError) {
    restoring.replaced = nil
    guard context.byteCount > 0 else { return }
    var reader = FieldReader(context)
    limits.delegateTimeout = try reader.integer()
    guard !reader.isAtEnd else { return }
    var replaced: Set<DelegateID> = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      replaced.insert(DelegateID(rawValue: try reader.integer()))
    }
    restoring.replaced = replaced
  }
}
