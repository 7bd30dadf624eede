// SPDX-License-Identifier: Apache-2.0

/// The protocols that there are, by name.
///
/// Some come from files, all of which are loaded together; others are added by owners, and go with them. A
/// name means one thing at a time: a file's definition gives way to none, that of an owner to a file's only.
/// What a name meant before lives on with those who hold it, and so does what a protocol inherits from.
package struct ProtocolLibrary<Owner: Hashable & Sendable>: Sendable {
  /// Why nothing was added: all that is wrong.
  package struct Refusal: Error, Equatable, Sendable {
    package var diagnostics: [ProtocolDiagnostic]

    /// There is nothing wrong but that names are taken.
    package var isConflict: Bool { diagnostics.allSatisfy { $0.kind == .conflict } }
  }

  private struct Entry {
    var linked: DelegateProtocol
    var isFromFile: Bool
    /// Those who have added it, each once, the first of them first.
    var owners: [Owner]
  }

  private var entries: [String: Entry] = [:]
  private var namesByOwner: [Owner: [String]] = [:]

  package init() {}

  package subscript(name: String) -> DelegateProtocol? { entries[name]?.linked }

  /// All of them, by name.
  package var protocols: [DelegateProtocol] {
    entries.values.map(\.linked).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  package var count: Int { entries.count }

  /// Who added the protocol first; nil if a file did.
  package func owner(of name: String) -> Owner? {
    entries[name].flatMap { $0.isFromFile ? nil : $0.owners.first }
  }

  /// Whether the name means what a file says.
  package func isFromFile(_ name: String) -> Bool { entries[name]?.isFromFile == true }

  /// What the owner has added, as it is known now.
  package func protocols(of owner: Owner) -> [DelegateProtocol] {
    (namesByOwner[owner] ?? []).compactMap { entries[$0]?.linked }
  }

  /// What sources define, which nobody adds: they mean what they say, whatever the names mean here.
  package static func link(_ sources: [ProtocolSource]) -> [DelegateProtocol] { link(sources, known: [:]).0 }

  /// The protocols that the owner has added.
  package func count(of owner: Owner) -> Int { namesByOwner[owner]?.count ?? 0 }

  /// Loads all files anew: what earlier ones defined is forgotten. Protocols with mistakes are left out.
  ///
  /// - Returns: what is to be said, in the order of the sources and their lines.
  package mutating func load(_ sources: [ProtocolSource]) -> [ProtocolDiagnostic] {
    var (linked, diagnostics) = Self.link(sources, known: [:])
    var loaded: [String: Entry] = [:]
    for new in linked {
      var entry = Entry(linked: new, isFromFile: true, owners: entries[new.name]?.owners ?? [])
      if let former = entries[new.name], !former.owners.isEmpty, !former.linked.isSame(as: new) {
        for owner in former.owners { forget(new.name, of: owner) }
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
    return Self.sort(diagnostics, by: sources)
  }

  /// Adds what a source defines, until the owner is removed. What is there already, and the same, is
  /// shared.
  ///
  /// - Parameters:
  ///   - parents: what it inherits from by their names, whatever else those mean.
  ///   - yields: a name that a file defines otherwise is no conflict. It keeps meaning what the file says.
  /// - Returns: what the source defines.
  /// - Throws: all that is wrong with it; nothing was added then.
  @discardableResult
  package mutating func add(
    _ source: ProtocolSource, inheriting parents: [DelegateProtocol] = [],
    yieldingToFiles yields: Bool = false, for owner: Owner
  ) throws(Refusal) -> [DelegateProtocol] {
    var known = entries.filter { !yields || !$0.value.isFromFile }.mapValues(\.linked)
    for parent in parents { known[parent.name] = parent }
    let (linked, diagnostics) = Self.link([source], known: known)
    guard diagnostics.isEmpty else {
      throw Refusal(diagnostics: Self.sort(diagnostics, by: [source]))
    }
    for new in linked {
      var entry = entries[new.name] ?? Entry(linked: new, isFromFile: false, owners: [])
      guard !entry.owners.contains(owner), !entry.isFromFile || entry.linked.isSame(as: new) else { continue }
      entry.owners.append(owner)
      entries[new.name] = entry
      namesByOwner[owner, default: []].append(new.name)
    }
    return linked
  }

  /// Takes back what the owner has added, unless others have, too.
  package mutating func remove(_ owner: Owner) {
    for name in namesByOwner.removeValue(forKey: owner) ?? [] {
      guard var entry = entries[name] else { continue }
      entry.owners.removeAll { $0 == owner }
      entries[name] = entry.owners.isEmpty && !entry.isFromFile ? nil : entry
    }
  }

  private mutating func forget(_ name: String, of owner: Owner) {
    namesByOwner[owner]?.removeAll { $0 == name }
    if namesByOwner[owner]?.isEmpty == true { namesByOwner[owner] = nil }
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
