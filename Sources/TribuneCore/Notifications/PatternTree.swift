// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Registrations by name pattern and object, found by walking a name's tokens.
///
/// A name visits, for each of its tokens, the branch of that token and the branch of `*`; `**` ends a
/// branch and is looked at on the way. What does not lie on these paths costs a lookup nothing, however
/// much of it there is. Branches that hold nothing any more are cut, so that memory follows what is
/// registered.
///
/// A key is one registration; it may be in the tree under several patterns.
struct PatternTree<Key: Hashable> {
  private struct Leaf {
    var anyObject: Set<Key> = []
    var byObject: [ExactText: Set<Key>] = [:]

    var isEmpty: Bool { anyObject.isEmpty && byObject.isEmpty }

    mutating func insert(_ key: Key, object: String?) {
      if let object { byObject[ExactText(object), default: []].insert(key) } else { anyObject.insert(key) }
    }

    mutating func remove(_ key: Key, object: String?) {
      guard let object = object.map(ExactText.init) else {
        anyObject.remove(key)
        return
      }
      byObject[object]?.remove(key)
      if byObject[object]?.isEmpty == true { byObject[object] = nil }
    }
  }

  private final class Node {
    var branches: [String: Node] = [:]
    var star: Node?
    /// Patterns that end here.
    var here = Leaf()
    /// Patterns that go on from here with `**`.
    var below = Leaf()

    var isEmpty: Bool { branches.isEmpty && star == nil && here.isEmpty && below.isEmpty }
  }

  private let root = Node()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// - Parameter object: the object filter; nil is any.
  mutating func insert(_ key: Key, pattern: Pattern, object: String?) {
    count += 1
    var node = root
    for token in pattern.tokens {
      switch token {
      case "**":
        node.below.insert(key, object: object)
        return
      case "*":
        if node.star == nil { node.star = Node() }
        if let star = node.star { node = star }
      default:
        let token = String(token)
        if let branch = node.branches[token] {
          node = branch
        } else {
          let branch = Node()
          node.branches[token] = branch
          node = branch
        }
      }
    }
    node.here.insert(key, object: object)
  }

  /// Removes what `insert` put in with the same arguments.
  mutating func remove(_ key: Key, pattern: Pattern, object: String?) {
    count -= 1
    remove(key, tokens: pattern.tokens[...], object: object, from: root)
  }

  private func remove(_ key: Key, tokens: ArraySlice<Substring>, object: String?, from node: Node) {
    guard let token = tokens.first else {
      node.here.remove(key, object: object)
      return
    }
    switch token {
    case "**":
      node.below.remove(key, object: object)
    case "*":
      guard let star = node.star else { return }
      remove(key, tokens: tokens.dropFirst(), object: object, from: star)
      if star.isEmpty { node.star = nil }
    default:
      guard let branch = node.branches[String(token)] else { return }
      remove(key, tokens: tokens.dropFirst(), object: object, from: branch)
      if branch.isEmpty { node.branches[String(token)] = nil }
    }
  }

  /// Calls `found` for every registration that matches, once for each pattern that does.
  func forEach(matching name: String, object: String, _ found: (Key) -> Void) {
    visit(root, tokens: name.split(separator: ".")[...], object: object, found)
  }

  private func visit(
    _ node: Node, tokens: ArraySlice<Substring>, object: String, _ found: (Key) -> Void
  ) {
    guard let token = tokens.first else {
      report(node.here, object: object, found)
      return
    }
    report(node.below, object: object, found)
    if let branch = node.branches[String(token)] {
      visit(branch, tokens: tokens.dropFirst(), object: object, found)
    }
    if let star = node.star {
      visit(star, tokens: tokens.dropFirst(), object: object, found)
    }
  }

  private func report(_ leaf: Leaf, object: String, _ found: (Key) -> Void) {
    leaf.anyObject.forEach(found)
    if !object.isEmpty { leaf.byObject[ExactText(object)]?.forEach(found) }
  }
}
