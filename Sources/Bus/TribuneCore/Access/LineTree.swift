// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

/// A tree of tokens that finds the policy lines that can decide about a pattern, among thousands of lines.
///
/// Each pattern of a line ends at a node, which refers to the line. A search usually visits few nodes. It
/// visits many if `overlapping` is true, and the pattern has a star where the lines have different tokens.
struct LineTree {
  private struct Node {
    /// The key is the hash of a token. If two hashes collide, a search also finds lines that do not match.
    var children: [UInt64: Int] = [:]
    var star: Int?
    /// The lines of patterns that end here.
    var ended: [Int] = []
    /// The lines of patterns that continue from here with `**`.
    var endless: [Int] = []
  }

  private enum Step {
    case text(UInt64)
    case one
    case oneOrMore
  }

  private var nodes = [Node()]

  init(_ lines: [BoundLine], _ effect: PolicyLine.Effect) {
    for (place, line) in lines.enumerated() where line.effect == effect {
      for pattern in line.names { insert(pattern, place) }
    }
  }

  private mutating func insert(_ pattern: Pattern, _ place: Int) {
    var node = 0
    for step in Self.steps(of: pattern) {
      switch step {
      case .text(let hash):
        let child = nodes[node].children[hash] ?? addNode()
        nodes[node].children[hash] = child
        node = child
      case .one:
        let child = nodes[node].star ?? addNode()
        nodes[node].star = child
        node = child
      case .oneOrMore:
        nodes[node].endless.append(place)
        return
      }
    }
    nodes[node].ended.append(place)
  }

  private mutating func addNode() -> Int {
    nodes.append(Node())
    return nodes.count - 1
  }

  private static func steps(of pattern: Pattern) -> [Step] {
    var steps: [Step] = []
    pattern.forEachToken { token in
      switch token {
      case .text(let bytes):
        var hash = TextHash()
        for offset in 0..<bytes.byteCount { hash.add(bytes.integer(at: offset, as: UInt8.self)) }
        steps.append(.text(hash.value))
      case .one: steps.append(.one)
      case .oneOrMore: steps.append(.oneOrMore)
      }
    }
    return steps
  }

  /// Calls `body` with the index (in the lines given to `init`) of each line with a pattern that covers all
  /// of `pattern`. If `overlapping` is true, a pattern that covers a part of `pattern` is enough. If hashes
  /// collide, `body` also gets lines without such a pattern. `body` can get a line twice.
  func forEach(about pattern: Pattern, overlapping: Bool, _ body: (Int) -> Void) {
    visit(0, Self.steps(of: pattern)[...], overlapping, body)
  }

  private func visit(
    _ index: Int, _ steps: ArraySlice<Step>, _ overlapping: Bool, _ body: (Int) -> Void
  ) {
    let node = nodes[index]
    guard let step = steps.first else { return node.ended.forEach(body) }
    node.endless.forEach(body)
    let rest = steps.dropFirst()
    switch step {
    case .text(let hash):
      if let child = node.children[hash] { visit(child, rest, overlapping, body) }
      if let star = node.star { visit(star, rest, overlapping, body) }
    case .one:
      if let star = node.star { visit(star, rest, overlapping, body) }
      guard overlapping else { return }
      for child in node.children.values { visit(child, rest, overlapping, body) }
    case .oneOrMore:
      guard overlapping else { return }
      if let star = node.star { visitAll(star, body) }
      for child in node.children.values { visitAll(child, body) }
    }
  }

  private func visitAll(_ index: Int, _ body: (Int) -> Void) {
    let node = nodes[index]
    node.ended.forEach(body)
    node.endless.forEach(body)
    if let star = node.star { visitAll(star, body) }
    for child in node.children.values { visitAll(child, body) }
  }
}
