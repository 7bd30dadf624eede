// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Registrations by name pattern and object, in a trie of tokens. A run of tokens without a fork is one node.
///
/// After each matching run, a lookup visits the branches of the next token and of `*`. A final `**` is not
/// part of a run: the node before it has the registrations in `below`. Only one path leads to each node, so a
/// lookup visits each node at most once. The tree compares tokens and objects as numbers (`TextNumbers`).
///
/// A pattern that loses its last registration keeps its node, because programs repeatedly cancel an
/// observation and observe the same name again. If more than `unusedMax` patterns have lost their last
/// registration, the tree drops the node of the first of these, unless this pattern has registrations again.
///
/// A key can have several patterns, and several registrations with one pattern. The tree is a class, because
/// copies of a struct would share the nodes.
package final class PatternTree<Key: Hashable> {
  /// The content is in a cell, because run-time checks for exclusive access would take a twentieth of the
  /// time in which the bus registers an observation.
  private final class Node {
    let content: Cell<Content>

    init(run: [TextNumber]) { content = Cell(Content(run: run)) }

    subscript(token: TextNumber) -> Node? {
      get { content.value[token] }
      set { content.value[token] = newValue }
    }
  }

  private struct Content {
    var run: [TextNumber]
    private var branches = SmallDictionary<TextNumber, Node>()
    private var star: Node?
    var here = Leaf<Key>()
    /// The keys of patterns that continue from here with `**`.
    var below = Leaf<Key>()
    var isKept = false

    init(run: [TextNumber]) { self.run = run }

    subscript(token: TextNumber) -> Node? {
      get { token == .star ? star : branches[token] }
      set { if token == .star { star = newValue } else { branches[token] = newValue } }
    }

    var hasKeys: Bool { !here.isEmpty || !below.isEmpty }

    var isEmpty: Bool { !hasKeys && !isKept && star == nil && branches.isEmpty }

    var only: Node? {
      guard !hasKeys, !isKept, branches.count + (star == nil ? 0 : 1) == 1 else { return nil }
      return star ?? branches.any
    }

    var nodeCount: Int {
      var count = 1 + (star?.content.value.nodeCount ?? 0)
      branches.visit { count += $1.content.value.nodeCount }
      return count
    }

    mutating func change(_ key: Key, goesOn: Bool, object: TextNumber?, by difference: Int) {
      if goesOn {
        below.change(key, object: object, by: difference)
      } else {
        here.change(key, object: object, by: difference)
      }
    }
  }

  private let root = Node(run: [])
  private let tokens = Cell(TextNumbers())
  private let objects = Cell(TextNumbers())
  private let scratch = Cell<[TextNumber]>([])
  private let unused = Cell<[[TextNumber]]>([])
  private let unusedMax: Int
  private let counted = Cell(0)
  package private(set) var count: Int {
    get { counted.value }
    set { counted.value = newValue }
  }

  package init(unusedMax: Int = 16) { self.unusedMax = unusedMax }

  package var isEmpty: Bool { count == 0 }

  package var extent: (nodes: Int, texts: Int) {
    (root.content.value.nodeCount, tokens.value.count + objects.value.count)
  }

  // MARK: Registering

  /// - Parameter object: nil for any object.
  package func insert(_ key: Key, pattern: Pattern, object: String?) {
    count += 1
    let object = object.map { objects.value.retain($0.utf8Bytes) }
    var (run, goesOn) = takeRun(of: pattern) { tokens.value.retain($0) }
    makeNode(at: run).content.value.change(key, goesOn: goesOn, object: object, by: 1)
    reuse(&run)
  }

  /// Undoes one `insert` with the same arguments.
  package func remove(_ key: Key, pattern: Pattern, object: String?) {
    count -= 1
    let object = object.map { objects.value.release($0.utf8Bytes) }
    var (run, goesOn) = takeRun(of: pattern) { tokens.value.release($0) }
    let node = node(at: run)
    node.content.value.change(key, goesOn: goesOn, object: object, by: -1)
    if !node.content.value.hasKeys, !node.content.value.isKept {
      node.content.value.isKept = true
      unused.value.append(Array(run))
      if unused.value.count > unusedMax { prune(unused.value.removeFirst()[...], from: root) }
    }
    reuse(&run)
  }

  /// Returns the numbers of the tokens before a final `**`. `goesOn` is true if the pattern has a final `**`.
  /// The caller must give the array back with `reuse`.
  @inline(__always) private func takeRun(
    of pattern: Pattern, _ number: (RawSpan) -> TextNumber
  ) -> (run: [TextNumber], goesOn: Bool) {
    var run: [TextNumber] = []
    swap(&run, &scratch.value)
    var goesOn = false
    pattern.forEachToken { token in
      switch token {
      case .oneOrMore: goesOn = true
      case .one: run.append(.star)
      case .text(let bytes): run.append(number(bytes))
      }
    }
    return (run, goesOn)
  }

  private func reuse(_ numbers: inout [TextNumber]) {
    numbers.removeOneByOne()
    swap(&numbers, &scratch.value)
  }

  private func makeNode(at run: [TextNumber]) -> Node {
    var node = root
    var position = 0
    while position < run.count {
      guard let next = node[run[position]] else {
        let end = Node(run: Array(run[position...]))
        node[run[position]] = end
        return end
      }
      let nextRun = next.content.value.run
      let common = nextRun.commonCount(with: run, from: position)
      if common < nextRun.count {
        let fork = Node(run: Array(nextRun[..<common]))
        next.content.value.run = Array(nextRun[common...])
        fork[nextRun[common]] = next
        node[run[position]] = fork
        node = fork
      } else {
        node = next
      }
      position += common
    }
    return node
  }

  private func node(at run: [TextNumber]) -> Node {
    var node = root
    var position = 0
    while position < run.count {
      guard let next = node[run[position]] else { preconditionFailure("the removed key is not in the tree") }
      node = next
      position += next.content.value.run.count
    }
    return node
  }

  private func prune(_ run: ArraySlice<TextNumber>, from node: Node) {
    guard let token = run.first else {
      node.content.value.isKept = false
      return
    }
    guard let next = node[token] else { preconditionFailure("the unused node is not in the tree") }
    prune(run.dropFirst(next.content.value.run.count), from: next)
    if next.content.value.isEmpty {
      node[token] = nil
    } else if let only = next.content.value.only {
      only.content.value.run = next.content.value.run + only.content.value.run
      node[token] = only
    }
  }

  // MARK: Looking up

  /// Calls `found` once for each key of each matching pattern and object filter.
  ///
  /// - Parameters:
  ///   - object: empty if the message has no object.
  ///   - noneIsEvery: if true, a message without an object is about all objects.
  ///   - found: must not use the tree. Release builds do not check this (`Cell`).
  /// - Returns: the number of nodes and tokens that the lookup examined.
  @discardableResult
  package func forEach(
    matching name: RawSpan, object: RawSpan, noneIsEvery: Bool = false, _ found: (Key) -> Void
  ) -> Int {
    let object: Filter =
      if object.byteCount == 0 {
        noneIsEvery ? .every : .none
      } else if objects.value.count > 0, let number = objects.value.number(of: object) {
        .one(number)
      } else {
        .none
      }
    var numbers: [TextNumber] = []
    swap(&numbers, &scratch.value)
    tokens.value.append(numbersOfTokensIn: name, to: &numbers)
    let cost = visit(root, numbers, at: 0, object: object, found)
    reuse(&numbers)
    return cost
  }

  private func visit(
    _ node: Node, _ name: [TextNumber], at position: Int, object: Filter, _ found: (Key) -> Void
  ) -> Int {
    guard position < name.count else {
      node.content.value.here.visit(object, found)
      return 1
    }
    node.content.value.below.visit(object, found)
    return 1 + follow(name[position], from: node, name, at: position, object: object, found)
      + follow(.star, from: node, name, at: position, object: object, found)
  }

  private func follow(
    _ token: TextNumber, from node: Node, _ name: [TextNumber], at position: Int, object: Filter,
    _ found: (Key) -> Void
  ) -> Int {
    guard let next = node[token] else { return 0 }
    let fitting = next.content.value.run.fitting(name, from: position)
    guard fitting == next.content.value.run.count else { return fitting }
    return fitting + visit(next, name, at: position + fitting, object: object, found)
  }
}

private enum Filter {
  case none, every
  case one(TextNumber)
}

private struct Leaf<Key: Hashable> {
  private typealias Keys = SmallDictionary<Key, Int>

  private var anyObject = Keys()
  private var byObject = SmallDictionary<TextNumber, Keys>()

  var isEmpty: Bool { anyObject.isEmpty && byObject.isEmpty }

  mutating func change(_ key: Key, object: TextNumber?, by difference: Int) {
    guard let object else { return anyObject.change(key, by: difference) }
    byObject.change(object) { keys in
      keys = keys ?? Keys()
      keys?.change(key, by: difference)
      if keys?.isEmpty == true { keys = nil }
    }
  }

  func visit(_ object: Filter, _ found: (Key) -> Void) {
    anyObject.visit { key, _ in found(key) }
    switch object {
    case .none: break
    case .one(let number): byObject[number]?.visit { key, _ in found(key) }
    case .every: byObject.visit { _, keys in keys.visit { key, _ in found(key) } }
    }
  }
}

extension SmallDictionary where Value == Int {
  fileprivate mutating func change(_ key: Key, by difference: Int) {
    let count = (self[key] ?? 0) + difference
    precondition(count >= 0, "the removed key is not in the leaf")
    self[key] = count == 0 ? nil : count
  }
}

extension [TextNumber] {
  fileprivate func commonCount(with other: [TextNumber], from position: Int) -> Int {
    let limit = Swift.min(count, other.count - position)
    for offset in 0..<limit where self[offset] != other[position + offset] { return offset }
    return limit
  }

  fileprivate func fitting(_ name: [TextNumber], from position: Int) -> Int {
    let limit = Swift.min(count, name.count - position)
    for offset in 0..<limit where self[offset] != .star && self[offset] != name[position + offset] {
      return offset
    }
    return limit
  }
}
