// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The values that an `attach` takes from configuration and policy, which can differ at its replay.
extension Bus {
  /// Must be called before the `attach` is handled.
  package mutating func appendContext(
    ofAttach frame: FrameView, from slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    buffer.append(limits.delegateTimeout)
    let replaced: [DelegateRegistration]
    do throws(WireError) {
      let fields = try frame.decode(Attach.self)
      let patterns = try fields.patterns.map { (text) throws(WireError) in try Pattern(text) }
      replaced =
        fields.isSet ? try replaceable(of: String(repairing: frame.object), by: patterns, from: slot) : []
    } catch {
      replaced = []
    }
    buffer.append(UInt32(replaced.count))
    for delegate in replaced { buffer.append(delegate.identity.id.rawValue) }
  }

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
