// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The methods that an object's delegate may and must respond to, inherited ones included.
///
/// It is immutable. Code that holds one keeps it even if its name gets another meaning later.
package final class DelegateProtocol: Sendable {
  package let name: String
  /// The comment above the protocol; empty if there is none.
  package let documentation: String
  package let location: SourceLocation
  package let parents: [DelegateProtocol]
  /// Every protocol that it inherits from, once. Each stands before those that it inherits from in turn.
  package let ancestors: [DelegateProtocol]
  /// Its own methods in source order, then its ancestors'. Each name occurs once.
  package let methods: [ProtocolMethod]
  /// The named types, its own and inherited ones.
  package let types: [String: ValueType]
  package let text: String
  /// The canonical text without the documentation.
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

  /// Whether it has this name, or inherits from a protocol that has.
  package func isOrInherits(from name: String) -> Bool {
    self.name == name || ancestors.contains { $0.name == name }
  }

  /// Whether both mean the same, including everything they inherit. Documentation is ignored.
  package func isSame(as other: DelegateProtocol) -> Bool {
    self === other
      || definition == other.definition && ancestors.count == other.ancestors.count
        && zip(ancestors, other.ancestors).allSatisfy { $0 === $1 || $0.definition == $1.definition }
  }
}

/// A method of a protocol, its own or inherited.
package final class ProtocolMethod: Sendable {
  package let declaration: MethodDeclaration
  package let origin: String
  /// The definitions of the types that its parameters and result name.
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
