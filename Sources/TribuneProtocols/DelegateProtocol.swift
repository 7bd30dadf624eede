// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What an object's delegate may and must respond to, with all that it inherits.
///
/// It never changes: who holds one goes on with it, whatever its name means to others later.
package final class DelegateProtocol: Sendable {
  package let name: String
  /// The comment above it; empty if there is none.
  package let documentation: String
  package let location: SourceLocation
  package let parents: [DelegateProtocol]
  /// All that it inherits from, each once, and each before those that it inherits from in turn.
  package let ancestors: [DelegateProtocol]
  /// Its own methods as they stand there, then its ancestors'. Each name is there once.
  package let methods: [ProtocolMethod]
  /// The types that have a name, its own and inherited ones.
  package let types: [String: ValueType]
  /// The one way in which it is written.
  package let text: String
  /// Likewise, without the documentation.
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

  /// The method that a message of this name calls.
  package func method(named name: String) -> ProtocolMethod? { methodsByName[name] }

  /// Whether it is called so, or inherits from one that is.
  package func isOrInherits(from name: String) -> Bool {
    self.name == name || ancestors.contains { $0.name == name }
  }

  /// Whether both mean the same, with all that they inherit. What the comments say is left aside.
  package func isSame(as other: DelegateProtocol) -> Bool {
    self === other
      || definition == other.definition && ancestors.count == other.ancestors.count
        && zip(ancestors, other.ancestors).allSatisfy { $0 === $1 || $0.definition == $1.definition }
  }
}

/// A method of a protocol, its own or inherited.
package final class ProtocolMethod: Sendable {
  package let declaration: MethodDeclaration
  /// The protocol that declares it.
  package let origin: String
  /// What the types mean that its parameters and its result name.
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
