// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// A delegate, as others see it.
package struct DelegateIdentity: Equatable, Sendable {
  /// Never reused.
  package var id: DelegateID
  package var label: String
  /// Its process.
  package var peer: PeerIdentity

  package init(id: DelegateID, label: String, peer: PeerIdentity) {
    self.id = id
    self.label = label
    self.peer = peer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      id: DelegateID(rawValue: reader.integer()), label: reader.text(), peer: PeerIdentity(from: &reader))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    buffer.appendField(label)
    peer.append(to: buffer)
  }
}
