// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Registrations by name pattern and object, found by walking a name's tokens.
///
/// It is a trie of tokens in which a run without a fork is one node. After each run that matches, a lookup visits the
/// branch of the name's next token and that of `*`; `**` ends a run and is checked on the way. Nodes off these paths
/// cost a lookup nothing. Each node on them is reached by one path only, so a lookup never costs more than one walk
/// through the whole tree.
///
/// Tokens and objects are compared as numbers, each looked up once per lookup. Unused nodes are joined or removed, and
/// unused numbers are removed when their table is made anew, so memory is proportional to what is registered. But the
/// nodes of up to `unusedMax` patterns that came out of use stay, since programs observe and cancel the same names again
/// and again. The one that came out of use first goes first, even if it was used since.
///
/// A key can be in the tree under several patterns, and several times under one. The tree is a class because its
/// nodes are: copies would share them.
package final class PatternTree<Key: Hashable> {
  /// Its content is a cell, since checks for exclusive access would take a twentieth of an observation.
  private final class Node {
    let content: Cell<Content>

    init(run: [TextNumber]) { content = Cell(Content(run: run)) }

    subscript(token: TextNumber) -> Node? {
      get { content.value[token] }
      set { content.value[token] = newValue }
    }
  }

  /// A run of tokens, the nodes that follow it, and the keys of the patterns that end with it.
  private struct Content {
    /// Empty for the root only.
    var run: [TextNumber]
    /// By the first token of their runs.
    private var branches = SmallDictionary<TextNumber, Node>()
    private var star: Node?
    /// Patterns that end here.
    var here = Leaf<Key>()
    /// Patterns that continue from here with `**`.
    var below = Leaf<Key>()
    /// Whether `unused` has it, so that it must stay.
    var isKept = false

    init(run: [TextNumber]) { self.run = run }

    subscript(token: TextNumber) -> Node? {
      get { token == .star ? star : branches[token] }
      set { if token == .star { star = newValue } else { branches[token] = newValue } }
    }

    var hasKeys: Bool { !here.isEmpty || !below.isEmpty }

    /// Whether nobody needs it.
    var isEmpty: Bool { !hasKeys && !isKept && star == nil && branches.isEmpty }

    /// The only branch of a node that is needed for nothing else; otherwise nil.
    var only: Node? {
      guard !hasKeys, !isKept, branches.count + (star == nil ? 0 : 1) == 1 else { return nil }
      return star ?? branches.any
    }

    /// This node and all below it.
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
  /// An array for the tokens of a name or a pattern, so that nothing is allocated for them.
  private let scratch = Cell<[TextNumber]>([])
  /// The runs to the nodes that stay though their patterns came out of use, the oldest first.
  private let unused = Cell<[[TextNumber]]>([])
  private let unusedMax: Int
  private let counted = Cell(0)
  /// Registrations; several of one key count each.
  package private(set) var count: Int {
    get { counted.value }
    set { counted.value = newValue }
  }

  /// - Parameter unusedMax: how many patterns' nodes stay though nobody uses them.
  package init(unusedMax: Int = 16) { self.unusedMax = unusedMax }

  package var isEmpty: Bool { count == 0 }

  /// The size of the tree: nodes, with the root, and texts.
  package var extent: (nodes: Int, texts: Int) {
    (root.content.value.nodeCount, tokens.value.count + objects.value.count)
  }

  // MARK: Registering

  /// - Parameter object: the object filter; nil for any.
  package func insert(_ key: Key, pattern: Pattern, object: String?) {
    count += 1
    let object = object.map { objects.value.retain($0.utf8Bytes) }
    var (run, goesOn) = takeRun(of: pattern) { tokens.value.retain($0) }
    makeNode(at: run).content.value.change(key, goesOn: goesOn, object: object, by: 1)
    reuse(&run)
  }

  /// Removes what `insert` added with the same arguments. It must be there.
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

  /// The numbers that `number` gives the pattern's tokens, without `**`, and whether the pattern ends with it. `reuse`
  /// gives the array back.
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

  /// The node at the end of `run`. Creates missing nodes, and splits a node whose run continues differently.
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

  /// The node at the end of `run`, which must be there.
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

  /// Removes the node at the end of `run` from below `node` if nobody needs it, and joins what then belongs together.
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

  /// Calls `found` for every key registered under a matching pattern, once for each such pattern and object filter.
  ///
  /// - Parameters:
  ///   - object: empty for none.
  ///   - noneIsEvery: whether a message without an object is about all objects.
  ///   - found: must not use the tree, which nothing checks (`Cell`).
  /// - Returns: the cost: nodes and tokens that were examined.
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

  /// Continues after the run of `node`, which matches `name` up to `position`.
  private func visit(
    _ node: Node, _ name: [TextNumber], at position: Int, object: Filter, _ found: (Key) -> Void
  ) -> Int {
    guard position < name.count else {
      node.content.value.here.report(object, found)
      return 1
    }
    node.content.value.below.report(object, found)
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

/// Whose object filters a lookup reports, beside those of any object.
private enum Filter {
  case none, every
  case one(TextNumber)
}

/// Keys of the patterns that end at one node, by object filter.
private struct Leaf<Key: Hashable> {
  /// Keys, and how often each was inserted.
  private typealias Keys = SmallDictionary<Key, Int>

  private var anyObject = Keys()
  private var byObject = SmallDictionary<TextNumber, Keys>()

  var isEmpty: Bool { anyObject.isEmpty && byObject.isEmpty }

  /// Adds to how often a key was inserted.
  mutating func change(_ key: Key, object: TextNumber?, by difference: Int) {
    guard let object else { return anyObject.change(key, by: difference) }
    byObject.change(object) { keys in
      keys = keys ?? Keys()
      keys?.change(key, by: difference)
      if keys?.isEmpty == true { keys = nil }
    }
  }

  func report(_ object: Filter, _ found: (Key) -> Void) {
    anyObject.visit { key, _ in found(key) }
    switch object {
    case .none: break
    case .one(let number): byObject[number]?.visit { key, _ in found(key) }
    case .every: byObject.visit { _, keys in keys.visit { key, _ in found(key) } }
    }
  }
}

extension SmallDictionary where Value == Int {
  /// Adds to the count of a key, and removes the key if the count is then 0.
  fileprivate mutating func change(_ key: Key, by difference: Int) {
    let count = (self[key] ?? 0) + difference
    precondition(count >= 0, "the removed key is not in the leaf")
    self[key] = count == 0 ? nil : count
  }
}

extension [TextNumber] {
  /// The number of leading tokens that `other` has from `position` on.
  fileprivate func commonCount(with other: [TextNumber], from position: Int) -> Int {
    let limit = Swift.min(count, other.count - position)
    for offset in 0..<limit where self[offset] != other[position + offset] { return offset }
    return limit
  }

  /// The number of leading tokens that match `name` from `position` on.
  fileprivate func fitting(_ name: [TextNumber], from position: Int) -> Int {
    let limit = Swift.min(count, name.count - position)
    for offset in 0..<limit where self[offset] != .star && self[offset] != name[position + offset] {
      return offset
    }
    return limit
  }
}
