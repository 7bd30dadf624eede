// SPDX-License-Identifier: Apache-2.0

/// All known protocols, by name. Their definitions come from files or from owners, such as connections.
///
/// If a file defines a name that an owner has defined, the file's definition replaces the owner's. An owner
/// never replaces a file's definition. Existing references to a `DelegateProtocol` keep the old definition.
package struct ProtocolLibrary<Owner: Hashable & Sendable>: Sendable {
  /// The errors for which the library refuses a source.
  package struct Refusal: Error, Equatable, Sendable {
    package var diagnostics: [ProtocolDiagnostic]

    package var isConflict: Bool { diagnostics.allSatisfy { $0.kind == .conflict } }
  }

  private struct Entry {
    var linked: DelegateProtocol
    var isFromFile: Bool
    var owners: [Owner]
  }

  private var entries: [String: Entry] = [:]
  private var namesByOwner: [Owner: [String]] = [:]

  package init() {}

  package subscript(name: String) -> DelegateProtocol? { entries[name]?.linked }

  package var protocols: [DelegateProtocol] {
    entries.values.map(\.linked).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  package var count: Int { entries.count }

  /// The owner that defined the protocol first. nil if the protocol comes from a file, or does not exist.
  package func owner(of name: String) -> Owner? {
    entries[name].flatMap { $0.isFromFile ? nil : $0.owners.first }
  }

  package func protocols(of owner: Owner) -> [DelegateProtocol] {
    (namesByOwner[owner] ?? []).compactMap { entries[$0]?.linked }
  }

  /// Links the sources with each other, but not with a library's protocols. Omits protocols with errors.
  package static func link(_ sources: [ProtocolSource]) -> [DelegateProtocol] { link(sources, known: [:]).0 }

  /// Replaces all protocols from files by those in `sources`, and omits protocols with errors. Returns the
  /// errors, and the replacements of owners' protocols.
  package mutating func load(_ sources: [ProtocolSource]) -> [ProtocolDiagnostic] {
    var (linked, diagnostics) = Self.link(sources, known: [:])
    var loaded: [String: Entry] = [:]
    for new in linked {
      var entry = Entry(linked: new, isFromFile: true, owners: entries[new.name]?.owners ?? [])
      if let former = entries[new.name], !former.owners.isEmpty, !former.linked.isSame(as: new) {
        for owner in former.owners { namesByOwner[owner]?.removeAll { $0 == new.name } }
        entry.owners = []
        diagnostics.append(
          ProtocolDiagnostic(
            new.location, "this replaces the protocol \"\(new.name)\" that a connection has defined",
            kind: .replacement))
      }
      loaded[new.name] = entry
    }
    for (name, former) in entries where loaded[name] == nil && !former.owners.isEmpty {
      loaded[name] = Entry(linked: former.linked, isFromFile: false, owners: former.owners)
    }
    entries = loaded
    namesByOwner = namesByOwner.filter { !$0.value.isEmpty }
    return Self.sort(diagnostics, by: sources)
  }

  /// Adds the protocols of a source. They stay until all their owners are removed, or a file replaces them.
  /// Owners share identical definitions. If this method throws, the library is unchanged.
  ///
  /// - Parameters:
  ///   - parents: protocols to inherit from, instead of the library's protocols of the same names.
  ///   - yields: if a file defines a name differently, true keeps the file's definition, and false throws.
  @discardableResult
  package mutating func add(
    _ source: ProtocolSource, inheriting parents: [DelegateProtocol] = [],
    yieldingToFiles yields: Bool = false, for owner: Owner
  ) throws(Refusal) -> [DelegateProtocol] {
    var known = entries.filter { !yields || !$0.value.isFromFile }.mapValues(\.linked)
    for parent in parents { known[parent.name] = parent }
    let (linked, diagnostics) = Self.link([source], known: known)
    guard diagnostics.isEmpty else { throw Refusal(diagnostics: Self.sort(diagnostics, by: [source])) }
    for new in linked {
      var entry = entries[new.name] ?? Entry(linked: new, isFromFile: false, owners: [])
      guard !entry.owners.contains(owner), !entry.isFromFile || entry.linked.isSame(as: new) else { continue }
      entry.owners.append(owner)
      entries[new.name] = entry
      namesByOwner[owner, default: []].append(new.name)
    }
    return linked
  }

  /// Removes the owner's protocols, except those that a file or another owner also defines.
  package mutating func remove(_ owner: Owner) {
    for name in namesByOwner.removeValue(forKey: owner) ?? [] {
      guard var entry = entries[name] else { continue }
      entry.owners.removeAll { $0 == owner }
      entries[name] = entry.owners.isEmpty && !entry.isFromFile ? nil : entry
    }
  }

  private static func link(
    _ sources: [ProtocolSource], known: [String: DelegateProtocol]
  ) -> ([DelegateProtocol], [ProtocolDiagnostic]) {
    var declarations: [ProtocolDeclaration] = []
    var diagnostics: [ProtocolDiagnostic] = []
    for source in sources {
      let parsed = ProtocolParser.parse(source)
      declarations += parsed.0
      diagnostics += parsed.1
    }
    let linked = Linker.link(declarations, known: known)
    return (linked.0, diagnostics + linked.1)
  }

  private static func sort(
    _ diagnostics: [ProtocolDiagnostic], by sources: [ProtocolSource]
  ) -> [ProtocolDiagnostic] {
    let places = Dictionary(
      sources.enumerated().map { ($1.file, $0) }, uniquingKeysWith: { first, _ in first })
    return diagnostics.enumerated().sorted { one, other in
      func key(_ item: (offset: Int, element: ProtocolDiagnostic)) -> (Int, Int, Int, Int) {
        let location = item.element.location
        return (places[location.file] ?? 0, location.line, location.column, item.offset)
      }
      return key(one) < key(other)
    }.map(\.element)
  }
}
