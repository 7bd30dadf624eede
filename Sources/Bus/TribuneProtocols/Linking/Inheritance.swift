// SPDX-License-Identifier: Apache-2.0

import TribuneWire

struct Inheritance {
  private let declaration: ProtocolDeclaration
  private let parents: [DelegateProtocol]
  private var ancestors: [DelegateProtocol] = []
  private var types: [String: ValueType] = [:]
  private(set) var diagnostics: [ProtocolDiagnostic] = []

  init(_ declaration: ProtocolDeclaration, _ parents: [DelegateProtocol]) {
    self.declaration = declaration
    self.parents = parents
  }

  mutating func link() -> DelegateProtocol? {
    var seen: Set<ObjectIdentifier> = []
    // `collect` appends each protocol behind its ancestors. After the reversal, each protocol precedes its
    // ancestors. Parents stay in the declared order, but a parent follows all parents that inherit from it.
    for parent in parents.reversed() { collect(parent, &seen) }
    ancestors.reverse()
    guard ancestors.count <= ProtocolLimits.ancestorsPerProtocol else {
      diagnose(
        declaration.location,
        "\"\(declaration.name)\" inherits from more than \(ProtocolLimits.ancestorsPerProtocol) protocols")
      return nil
    }
    linkTypes()
    let methods = linkMethods()
    guard diagnostics.isEmpty else { return nil }
    return DelegateProtocol(
      declaration, parents: parents, ancestors: ancestors, methods: methods, types: types)
  }

  private mutating func collect(_ linked: DelegateProtocol, _ seen: inout Set<ObjectIdentifier>) {
    guard seen.insert(ObjectIdentifier(linked)).inserted else { return }
    for parent in linked.parents.reversed() { collect(parent, &seen) }
    ancestors.append(linked)
  }

  // MARK: Types

  private mutating func linkTypes() {
    var origins: [String: DelegateProtocol] = [:]
    for parent in parents {
      for (name, type) in parent.types.sorted(by: { $0.key < $1.key }) {
        if let first = types[name], let origin = origins[name], first != type {
          diagnose(
            declaration.location,
            "type \"\(name)\" differs between \"\(origin.name)\" and \"\(parent.name)\"")
          continue
        }
        types[name] = type
        origins[name] = parent
      }
    }
    for definition in declaration.types {
      if let inherited = types[definition.name], inherited != definition.type {
        let origin = origins[definition.name]?.name ?? ""
        diagnose(
          definition.location, "type \"\(definition.name)\" differs from that in \"\(origin)\": \(inherited)")
        continue
      }
      types[definition.name] = definition.type
    }
    if types.count > ProtocolLimits.typesPerProtocol {
      diagnose(
        declaration.location,
        "\"\(declaration.name)\" has more than \(ProtocolLimits.typesPerProtocol) types with those it inherits"
      )
    }
    for reference in declaration.references where types[reference.name] == nil {
      diagnose(reference.location, "there is no type \"\(reference.name)\"")
    }
    var done: Set<String> = []
    for definition in declaration.types { findCycle(from: definition, &done) }
  }

  /// Finds a type that contains itself. Such a type has no finite value.
  private mutating func findCycle(
    from definition: ProtocolDeclaration.TypeDefinition, _ done: inout Set<String>
  ) {
    var path: [String] = []
    if let cycle = cycle(through: definition.name, &path, &done) {
      diagnose(
        definition.location,
        "type \"\(cycle.first ?? definition.name)\" contains itself: \(cycle.joined(separator: " → ")); make one "
          + "of them nullable, an array or a map")
    }
  }

  private func cycle(through name: String, _ path: inout [String], _ done: inout Set<String>) -> [String]? {
    if let start = path.firstIndex(of: name) { return Array(path[start...]) + [name] }
    guard !done.contains(name), let type = types[name] else { return nil }
    path.append(name)
    for part in type.parts {
      if let cycle = cycle(through: part, &path, &done) {
        done.formUnion(path)
        return cycle
      }
    }
    path.removeLast()
    done.insert(name)
    return nil
  }

  // MARK: Methods

  private mutating func linkMethods() -> [ProtocolMethod] {
    var methods = declaration.methods.map { ProtocolMethod($0, origin: declaration.name, types: types) }
    var places = Dictionary(uniqueKeysWithValues: methods.enumerated().map { ($1.name, $0) })
    let ownCount = methods.count
    var wrong: Set<String> = []
    for ancestor in ancestors {
      for method in ancestor.methods where method.origin == ancestor.name {
        guard let place = places[method.name] else {
          places[method.name] = methods.count
          methods.append(method)
          continue
        }
        let first = methods[place]
        if place < ownCount {
          if !wrong.contains(method.name), let message = objection(to: first.declaration, over: method) {
            diagnose(first.declaration.location, message)
            wrong.insert(method.name)
          }
        } else if !first.declaration.hasSignature(of: method.declaration) {
          diagnose(
            declaration.location,
            "method \"\(method.name)\" of \"\(first.origin)\" (\(first.declaration.location)) differs from that of "
              + "\"\(method.origin)\" (\(method.declaration.location))")
        } else if method.isRequired, !first.isRequired {
          methods[place] = method
        }
      }
    }
    if methods.count > ProtocolLimits.methodsPerProtocol {
      diagnose(
        declaration.location,
        "\"\(declaration.name)\" has more than \(ProtocolLimits.methodsPerProtocol) methods with those it inherits"
      )
    }
    return methods
  }

  private func objection(to own: MethodDeclaration, over inherited: ProtocolMethod) -> String? {
    let origin = "\"\(inherited.origin)\" (\(inherited.declaration.location))"
    if !own.hasSignature(of: inherited.declaration) {
      return "method \"\(own.name)\" differs from the inherited one of \(origin)"
    }
    if !own.isRequired || isRequiredAlready(inherited) {
      return
        "method \"\(own.name)\" is inherited from \(origin); it can be declared again only to make it required"
    }
    return nil
  }

  /// True if any parent requires the method, even if a more distant ancestor declares the method as optional.
  private func isRequiredAlready(_ inherited: ProtocolMethod) -> Bool {
    parents.contains { $0.method(named: inherited.name)?.isRequired == true }
  }

  private mutating func diagnose(_ location: SourceLocation, _ message: String) {
    diagnostics.append(ProtocolDiagnostic(location, message))
  }
}

extension ValueType {
  /// The named types that each value of this type must contain.
  fileprivate var parts: [String] {
    switch self {
    case .named(let name): [name]
    case .structure(let fields): fields.flatMap(\.type.parts)
    default: []
    }
  }
}
