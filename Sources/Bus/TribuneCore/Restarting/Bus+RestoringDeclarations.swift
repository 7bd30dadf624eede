// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
package import TribuneWire

/// The protocols on which a declaration's frame relies. At a replay, they may be gone or differ, but the
/// declaration must not change.
extension Bus {
  package mutating func appendContext(
    ofDeclaration serial: Serial, by slot: ConnectionSlot, to buffer: ByteBuffer
  ) {
    guard let declaration = connections[slot].declarations[serial] else { return }
    let library = declarations.library
    let own = declaration.isDefinition ? library.protocols(of: declaration.definer) : []
    var used = own.flatMap(\.ancestors)
    if let linked = declaration.linked { used += linked.ancestors + [linked] }
    // Excludes protocols that the frame itself defines.
    var names = Set(own.map(\.name))
    for linked in used where names.insert(linked.name).inserted {
      buffer.appendBytesField(linked.text.utf8Bytes)
    }
  }

  package mutating func setDeclarationContext(_ context: RawSpan) throws(WireError) {
    var reader = FieldReader(context)
    declarations.context = try ProtocolLibrary<Definer>.link(from: &reader)
  }
}

extension ProtocolLibrary {
  static func link(from reader: inout FieldReader) throws(WireError) -> [DelegateProtocol] {
    var sources: [ProtocolSource] = []
    while !reader.isAtEnd { sources.append(ProtocolSource(file: "log", text: try reader.byteArray())) }
    return link(sources)
  }
}
