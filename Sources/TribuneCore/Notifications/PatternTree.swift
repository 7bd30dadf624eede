// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Registrations by name pattern and object, found by walking a name's tokens.
///
/// It is a trie of tokens in which a run without a fork is one node. A name visits, behind each run that it
/// fits, the branch of its next token and that of `*`; `**` ends a run and is looked at on the way. What does
/// not lie on these paths costs a lookup nothing, however much of it there is; what does is reached by one
/// path only, so that a lookup never costs more than going once through all that is registered.
///
/// Tokens and objects are compared as numbers, which are looked up once for each lookup. Nodes that nothing
/// needs any more are joined or cut, and so are the numbers, so that memory follows what is registered.
///
/// A key may be in the tree under several patterns, and several times under one. It is a class because its
/// nodes are: two copies would share them.
package final class PatternTree<Key: Hashable> {
  /// Some tokens, and what comes behind them.
  private final class Node {
    /// Never empty, but for the root's.
    var run: [TextNumber]
    /// By the first token of their runs.
    private var branches = SmallDictionary<TextNumber, Node>()
    private var star: Node?
    /// Patterns that end here.
    var here = Leaf<Key>()
    /// Patterns that go on from here with `**`.
    var below = Leaf<Key>()

    init(run: [TextNumber]) { self.run = run }

    subscript(token: TextNumber) -> Node? {
      get { token == .star ? star : branches[token] }
      set { if token == .star { star = newValue } else { branches[token] = newValue } }
    }

    /// It holds nothing itself, and there is nothing behind it.
    var isEmpty: Bool { here.isEmpty && below.isEmpty && star == nil && branches.isEmpty }

    /// The one node behind it, if it is for that alone.
    var only: Node? {
      guard here.isEmpty, below.isEmpty, branches.count + (star == nil ? 0 : 1) == 1 else { return nil }
      return star ?? branches.any
    }

    /// The node and all behind it.
    var nodeCount: Int {
      var count = 1 + (star?.nodeCount ?? 0)
      branches.visit { count += $1.nodeCount }
      return count
    }
  }

  private let root = Node(run: [])
  private var tokens = TextNumbers()
  private var objects = TextNumbers()
  /// For the tokens of the name that is looked up, so that a lookup allocates nothing for them.
  private var room: [TextNumber] = []
  private let counted = Cell(0)
  /// Registrations, those of one key each for itself.
  package private(set) var count: Int {
    get { counted.value }
    set { counted.value = newValue }
  }

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// What it keeps: nodes, the root among them, and texts.
  package var extent: (nodes: Int, texts: Int) { (root.nodeCount, tokens.count + objects.count) }

  // MARK: Registering

  /// - Parameter object: the object filter; nil is any.
  package func insert(_ key: Key, pattern: Pattern, object: String?) {
    count += 1
    let (run, goesOn) = pattern.run { tokens.retain($0) }
    let object = object.map { objects.retain(ExactText($0)) }
    let node = makeNode(at: run)
    if goesOn { node.below.insert(key, object: object) } else { node.here.insert(key, object: object) }
  }

  /// Removes what `insert` put in with the same arguments, which must be there.
  package func remove(_ key: Key, pattern: Pattern, object: String?) {
    count -= 1
    let (run, goesOn) = pattern.run { tokens.release($0) }
    let object = object.map { objects.release(ExactText($0)) }
    remove(key, at: run[...], goesOn: goesOn, object: object, from: root)
  }

  /// The node behind the tokens of `run`; those that are missing are made, and a run that goes on differently
  /// is cut in two.
  private func makeNode(at run: [TextNumber]) -> Node {
    var node = root
    var rest = run[...]
    while let token = rest.first {
      guard let next = node[token] else {
        let end = Node(run: Array(rest))
        node[token] = end
        return end
      }
      let common = zip(next.run, rest).prefix { $0 == $1 }.count
      if common < next.run.count {
        let fork = Node(run: Array(next.run[..<common]))
        next.run = Array(next.run[common...])
        fork[next.run[0]] = next
        node[token] = fork
        node = fork
      } else {
        node = next
      }
      rest = rest.dropFirst(common)
    }
    return node
  }

  private func remove(
    _ key: Key, at run: ArraySlice<TextNumber>, goesOn: Bool, object: TextNumber?, from node: Node
  ) {
    guard let token = run.first else {
      if goesOn { node.below.remove(key, object: object) } else { node.here.remove(key, object: object) }
      return
    }
    guard let next = node[token] else { preconditionFailure("what is removed was not in the tree") }
    remove(key, at: run.dropFirst(next.run.count), goesOn: goesOn, object: object, from: next)
    if next.isEmpty {
      node[token] = nil
    } else if let only = next.only {
      only.run = next.run + only.run
      node[token] = only
    }
  }

  // MARK: Looking up

  /// Calls `found` for every key that is registered under a pattern that matches, once for each such pattern
  /// and each object filter.
  ///
  /// - Returns: what it took: nodes and tokens that were looked at.
  @discardableResult
  package func forEach(matching name: RawSpan, object: RawSpan, _ found: (Key) -> Void) -> Int {
    let isAsked = object.byteCount > 0 && objects.count > 0
    let object = isAsked ? objects.number(of: ExactText(String(repairing: object))) : nil
    var name = takeRoom(for: name)
    defer {
      name.removeAll(keepingCapacity: true)
      swap(&name, &room)
    }
    return visit(root, name, at: 0, object: object, found)
  }

  /// The numbers of a name's tokens, in the room that is there.
  private func takeRoom(for name: RawSpan) -> [TextNumber] {
    var numbers: [TextNumber] = []
    swap(&numbers, &room)
    tokens.append(numbersOfTokensIn: name, to: &numbers)
    return numbers
  }

  /// Goes on behind the run of `node`, which `name` fits up to `position`.
  private func visit(
    _ node: Node, _ name: [TextNumber], at position: Int, object: TextNumber?, _ found: (Key) -> Void
  ) -> Int {
    guard position < name.count else {
      node.here.report(object, found)
      return 1
    }
    node.below.report(object, found)
    return 1 + follow(name[position], from: node, name, at: position, object: object, found)
      + follow(.star, from: node, name, at: position, object: object, found)
  }

  private func follow(
    _ token: TextNumber, from node: Node, _ name: [TextNumber], at position: Int, object: TextNumber?,
    _ found: (Key) -> Void
  ) -> Int {
    guard let next = node[token] else { return 0 }
    let fitting = next.run.fitting(name, from: position)
    guard fitting == next.run.count else { return fitting }
    return fitting + visit(next, name, at: position + fitting, object: object, found)
  }
}

/// Keys of the patterns that end in one place, by object filter.
private struct Leaf<Key: Hashable> {
  /// Keys, and how many times each was put in.
  private typealias Keys = SmallDictionary<Key, Int>

  private var anyObject = Keys()
  private var byObject = SmallDictionary<TextNumber, Keys>()

  var isEmpty: Bool { anyObject.isEmpty && byObject.isEmpty }

  mutating func insert(_ key: Key, object: TextNumber?) {
    change(key, object: object, by: 1)
  }

  mutating func remove(_ key: Key, object: TextNumber?) {
    change(key, object: object, by: -1)
  }

  private mutating func change(_ key: Key, object: TextNumber?, by difference: Int) {
    guard let object else { return anyObject.change(key, by: difference) }
    byObject.change(object) { keys in
      keys = keys ?? Keys()
      keys?.change(key, by: difference)
      if keys?.isEmpty == true { keys = nil }
    }
  }

  /// - Parameter object: nil if it is none that anybody asks for.
  func report(_ object: TextNumber?, _ found: (Key) -> Void) {
    anyObject.visit { key, _ in found(key) }
    if let object, let keys = byObject[object] { keys.visit { key, _ in found(key) } }
  }
}

extension SmallDictionary where Value == Int {
  /// Adds to the count of a key, which is there while that is more than 0.
  fileprivate mutating func change(_ key: Key, by difference: Int) {
    let count = (self[key] ?? 0) + difference
    precondition(count >= 0, "a key that is removed was not there")
    self[key] = count == 0 ? nil : count
  }
}

extension [TextNumber] {
  /// How many of its tokens `name` fits from `position` on, all or those before the first that it does not.
  fileprivate func fitting(_ name: [TextNumber], from position: Int) -> Int {
    let limit = Swift.min(count, name.count - position)
    for offset in 0..<limit where self[offset] != .star && self[offset] != name[position + offset] {
      return offset
    }
    return limit
  }
}

extension Pattern {
  /// The numbers that `number` gives its tokens, but for `**`, and whether that ends it.
  fileprivate func run(_ number: (ExactText) -> TextNumber) -> (run: [TextNumber], goesOn: Bool) {
    var run: [TextNumber] = []
    var goesOn = false
    forEachToken { token in
      switch token {
      case .oneOrMore: goesOn = true
      case .one: run.append(.star)
      case .text(let bytes): run.append(number(ExactText(String(repairing: bytes))))
      }
    }
    return (run, goesOn)
  }
}
