// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
package import TribuneWire

/// What a declaration relies on beside the frame that made it: protocols that connections had defined. Those may be gone
/// when the frame is received again, with those who had defined them; what was declared stays what it was.
extension Bus {
  /// Appends it, as `give` reads it; nothing if there is none.
  package mutating func appendContext(
    ofDeclaration serial: Serial, by slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    guard let declaration = connections[slot.index]?.declarations[serial] else { return }
    let library = declarations.library
    let own = declaration.isDefinition ? library.protocols(of: declaration.definer) : []
    var used = own.flatMap(\.ancestors)
    if let linked = declaration.linked, !library.isFromFile(linked.name) {
      used += linked.ancestors + [linked]
    }
    // Each once; the frame has its own.
    var names = Set(own.map(\.name))
    for linked in used where names.insert(linked.name).inserted {
      buffer.appendBytesField(linked.text.utf8Bytes)
    }
  }

  /// What was appended belongs to the frame that is received next.
  package mutating func give(_ context: RawSpan) throws(WireError) {
    var reader = FieldReader(context)
    var sources: [ProtocolSource] = []
    while !reader.isAtEnd {
      sources.append(ProtocolSource(file: "connection", text: try reader.byteArray()))
    }
    declarations.given = ProtocolLibrary<Definer>.link(sources)
  }
}
