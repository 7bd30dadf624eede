// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// An immutable protocol. If the library replaces it by another definition of the same name, existing
/// references keep the old definition.
package final class DelegateProtocol: Sendable {
  package let name: String
  package let documentation: String
  package let location: SourceLocation
  package let parents: [DelegateProtocol]
  /// All ancestors, without duplicates. Each one precedes its own ancestors.
  package let ancestors: [DelegateProtocol]
  /// The protocol's own methods in source order, then those of its ancestors. Each name is unique.
  package let methods: [ProtocolMethod]
  package let types: [String: ValueType]
  package let text: String
  /// The canonical text of the declaration, without documentation.
  let definition: String
  private let methodsByName: [String: ProtocolMethod]

  init(
    _ declaration: ProtocolDeclaration, parents: [DelegateProtocol], ancestors: [DelegateProtocol],
    methods: [ProtocolMethod], types: [String: ValueType]
  ) {
    name = declaration.name
    documentation = declaration.documentation
    location = declaration.location
    self.parents = parents
    self.ancestors = ancestors
    self.methods = methods
    self.types = types
    text = declaration.text(withDocumentation: true)
    definition = declaration.text(withDocumentation: false)
    methodsByName = Dictionary(methods.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  package func method(named name: String) -> ProtocolMethod? { methodsByName[name] }

  package func isOrInherits(from name: String) -> Bool {
    self.name == name || ancestors.contains { $0.name == name }
  }

  /// True if the declarations of both protocols, and of their ancestors, are equal. Ignores documentation.
  package func isSame(as other: DelegateProtocol) -> Bool {
    self === other
      || definition == other.definition && ancestors.count == other.ancestors.count
        && zip(ancestors, other.ancestors).allSatisfy { $0 === $1 || $0.definition == $1.definition }
  }
}

package final class ProtocolMethod: Sendable {
  package let declaration: MethodDeclaration
  package let origin: String
  package let types: [String: ValueType]

  init(_ declaration: MethodDeclaration, origin: String, types: [String: ValueType]) {
    self.declaration = declaration
    self.origin = origin
    self.types = types
  }

  package var name: String { declaration.name }
  package var kind: MethodKind { declaration.kind }
  package var isRequired: Bool { declaration.isRequired }
}
