// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

struct ProtocolDeclaration: Sendable {
  struct Reference: Sendable {
    var name: String
    var location: SourceLocation
  }

  struct TypeDefinition: Sendable {
    var name: String
    var type: ValueType
    var documentation: String
    var location: SourceLocation
  }

  var name: String
  var documentation: String
  var location: SourceLocation
  var parents: [Reference] = []
  var types: [TypeDefinition] = []
  var methods: [MethodDeclaration] = []
  var references: [Reference] = []
  var isBroken = false

  /// The canonical text of the declaration. It parses to the same protocol.
  func text(withDocumentation: Bool) -> String {
    func comment(_ documentation: String, indent: String) -> String {
      guard withDocumentation, !documentation.isEmpty else { return "" }
      return documentation.split(separator: "\n", omittingEmptySubsequences: false)
        .map { "\(indent)#\($0.isEmpty ? "" : " ")\($0)\n" }.joined()
    }
    var text = comment(documentation, indent: "") + "protocol \(name)"
    if !parents.isEmpty { text += " : " + parents.map(\.name).joined(separator: ", ") }
    text += " {\n"
    for type in types {
      text += comment(type.documentation, indent: "  ") + "  type \(type.name) \(type.type)\n"
    }
    for method in methods { text += comment(method.documentation, indent: "  ") + "  \(method)\n" }
    return text + "}\n"
  }
}

package struct MethodDeclaration: Sendable, CustomStringConvertible {
  package var name: String
  package var kind: MethodKind
  package var isRequired: Bool
  package var parameters: [ValueType.Field]
  package var result: [ValueType.Field]?
  package var documentation: String
  package var location: SourceLocation

  package func hasSignature(of other: MethodDeclaration) -> Bool {
    kind == other.kind && parameters == other.parameters && result == other.result
  }

  /// The declaration as text, such as `optional value list.row (index: int) -> (title: string)`.
  package var description: String {
    let text = "\(isRequired ? "required" : "optional") \(kind) \(name) \(parameters.text)"
    return result.map { "\(text) -> \($0.text)" } ?? text
  }
}
