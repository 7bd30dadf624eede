// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
package import TribuneWire

/// What a declaration relies on beside the frame that made it: protocols that connections or files had defined. Those may
/// be gone when the frame is received again, or be others; what was declared stays what it was.
extension Bus {
  /// Appends it, as `give` reads it; nothing if there is none.
  package mutating func appendContext(
    ofDeclaration serial: Serial, by slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    guard let declaration = connections[slot.index]?.declarations[serial] else { return }
    let library = declarations.library
    let own = declaration.isDefinition ? library.protocols(of: declaration.definer) : []
    var used = own.flatMap(\.ancestors)
    if let linked = declaration.linked { used += linked.ancestors + [linked] }
    // Each once; the frame has its own.
    var names = Set(own.map(\.name))
    for linked in used where names.insert(linked.name).inserted {
      buffer.appendBytesField(linked.text.utf8Bytes)
    }
  }

  /// What was appended belongs to the frame that is received next.
  package mutating func give(_ context: RawSpan) throws(WireError) {
    var reader = FieldReader(context)
    declarations.given = try ProtocolLibrary<Definer>.link(from: &reader)
  }
}

extension ProtocolLibrary {
  /// The protocols whose texts are the rest of the fields.
  static func link(from reader: inout FieldReader) throws(WireError) -> [DelegateProtocol] {
    var sources: [ProtocolSource] = []
    while !reader.isAtEnd { sources.append(ProtocolSource(file: "log", text: try reader.byteArray())) }
    return link(sources)
  }
}
