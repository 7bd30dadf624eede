// SPDX-License-Identifier: Apache-2.0

/// Links each protocol after all its parents. A protocol that waits for its parents forever is in a cycle, or
/// inherits from a protocol in a cycle. The result omits protocols with errors, and all protocols that
/// inherit from these.
struct Linker {
  private enum State {
    case waiting
    case linked(DelegateProtocol)
    case broken
  }

  private let known: [String: DelegateProtocol]
  private var declarations: [ProtocolDeclaration] = []
  private var indexes: [String: Int] = [:]
  private var states: [State] = []
  private var waitingFor: [Int] = []
  private var children: [[Int]] = []
  private var ready: [Int] = []
  private var diagnostics: [ProtocolDiagnostic] = []

  /// Links the declarations. Does not repeat errors that the parser has reported.
  static func link(
    _ declarations: [ProtocolDeclaration], known: [String: DelegateProtocol]
  ) -> ([DelegateProtocol], [ProtocolDiagnostic]) {
    var linker = Linker(known: known)
    linker.take(declarations)
    linker.linkAll()
    let linked = linker.states.compactMap { state in
      if case .linked(let linked) = state { linked } else { nil }
    }
    return (linked, linker.diagnostics)
  }

  private init(known: [String: DelegateProtocol]) { self.known = known }

  /// Keeps the first declaration of each name. A later declaration of the name is a conflict, unless it has
  /// the same definition as the first, and both are without errors.
  private mutating func take(_ all: [ProtocolDeclaration]) {
    for declaration in all {
      guard let index = indexes[declaration.name] else {
        indexes[declaration.name] = declarations.count
        declarations.append(declaration)
        continue
      }
      let first = declarations[index]
      let isSame = first.text(withDocumentation: false) == declaration.text(withDocumentation: false)
      if first.isBroken || declaration.isBroken || !isSame { conflict(declaration, first.location) }
    }
    states = declarations.map { _ in .waiting }
    waitingFor = declarations.map { _ in 0 }
    children = declarations.map { _ in [] }
    for (index, declaration) in declarations.enumerated() {
      for parent in declaration.parents {
        guard let parent = indexes[parent.name] else { continue }
        waitingFor[index] += 1
        children[parent].append(index)
      }
      if waitingFor[index] == 0 { ready.append(index) }
    }
  }

  private mutating func linkAll() {
    var start = 0
    while true {
      while let index = ready.popLast() { resolve(index) }
      while start < declarations.count, !isWaiting(start) { start += 1 }
      guard start < declarations.count else { return }
      breakCycle(reachedFrom: start)
    }
  }

  private func isWaiting(_ index: Int) -> Bool {
    if case .waiting = states[index] { true } else { false }
  }

  private mutating func resolve(_ index: Int) {
    guard isWaiting(index) else { return }
    states[index] = link(declarations[index]).map(State.linked) ?? .broken
    release(childrenOf: index)
  }

  private mutating func release(childrenOf index: Int) {
    for child in children[index] {
      waitingFor[child] -= 1
      if waitingFor[child] == 0 { ready.append(child) }
    }
  }

  /// Reports and breaks a cycle. Each waiting declaration has a waiting parent, so the path from parent to
  /// parent reaches a cycle.
  private mutating func breakCycle(reachedFrom start: Int) {
    var path: [Int] = []
    var places: [Int: Int] = [:]
    var index = start
    while places[index] == nil {
      places[index] = path.count
      path.append(index)
      let parents = declarations[index].parents.compactMap { indexes[$0.name] }
      guard let parent = parents.first(where: isWaiting) else {
        preconditionFailure("a waiting declaration has a waiting parent")
      }
      index = parent
    }
    var cycle = Array(path[(places[index] ?? 0)...])
    guard let first = cycle.min(), let place = cycle.firstIndex(of: first) else { return }
    cycle = Array(cycle[place...] + cycle[..<place])
    let declaration = declarations[first]
    let next = declarations[cycle.count > 1 ? cycle[1] : first].name
    let location = declaration.parents.first { $0.name == next }?.location ?? declaration.location
    var names = cycle.map { declarations[$0].name }
    if names.count > ProtocolLimits.ancestorsPerProtocol {
      let kept = ProtocolLimits.ancestorsPerProtocol
      names = names.prefix(kept) + ["(\(names.count - kept) more)"]
    }
    names.append(declaration.name)
    diagnose(location, "\"\(declaration.name)\" inherits from itself: \(names.joined(separator: " → "))")
    states[first] = .broken
    release(childrenOf: first)
  }

  private mutating func link(_ declaration: ProtocolDeclaration) -> DelegateProtocol? {
    guard let parents = parents(of: declaration), !declaration.isBroken else { return nil }
    var inheritance = Inheritance(declaration, parents)
    guard let linked = inheritance.link() else {
      diagnostics += inheritance.diagnostics
      return nil
    }
    guard let first = known[declaration.name] else { return linked }
    if first.isSame(as: linked) { return first }
    conflict(declaration, first.location)
    return nil
  }

  private mutating func parents(of declaration: ProtocolDeclaration) -> [DelegateProtocol]? {
    var parents: [DelegateProtocol] = []
    var broken: ProtocolDeclaration.Reference?
    var areAllKnown = true
    for parent in declaration.parents {
      if let index = indexes[parent.name] {
        if case .linked(let linked) = states[index] {
          parents.append(linked)
        } else {
          broken = broken ?? parent
        }
      } else if let known = known[parent.name] {
        parents.append(known)
      } else {
        diagnose(parent.location, "there is no protocol \"\(parent.name)\"")
        areAllKnown = false
      }
    }
    guard areAllKnown else { return nil }
    if let broken {
      if !declaration.isBroken {
        diagnose(broken.location, "\"\(declaration.name)\" is left out, as its parent \"\(broken.name)\" is")
      }
      return nil
    }
    return parents
  }

  private mutating func conflict(_ declaration: ProtocolDeclaration, _ first: SourceLocation) {
    let message = "protocol \"\(declaration.name)\" has another definition already, at \(first)"
    diagnostics.append(ProtocolDiagnostic(declaration.location, message, kind: .conflict))
  }

  private mutating func diagnose(_ location: SourceLocation, _ message: String) {
    diagnostics.append(ProtocolDiagnostic(location, message))
  }
}
