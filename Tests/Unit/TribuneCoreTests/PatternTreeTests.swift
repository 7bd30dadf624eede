// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("The pattern tree", .timeLimit(.minutes(15)))
struct PatternTreeTests {
  private struct Registration {
    var key: Int
    var pattern: Pattern
    var object: String?
  }

  @Test(
    "It finds the same as matching each pattern, and has only a new tree's nodes and the allowed spares",
    arguments: Seeds.all, [0, 1, 16])
  func oracle(seed: UInt64, unusedMax: Int) throws {
    var random = SplitMix64(seed: seed)
    let tree = PatternTree<Int>(unusedMax: unusedMax)
    var all: [Registration] = []
    for step in 0..<2000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0,
        1 where all.count < 60:
        let new = Registration(
          key: Int.random(in: 0..<6, using: &random), pattern: try Pattern(random.longPattern()),
          object: random.pick([nil, nil, "o", "p", "ü"]))
        for registration in [new] + (random.oneIn(4) ? [new] : []) {
          tree.insert(registration.key, pattern: registration.pattern, object: registration.object)
          all.append(registration)
        }
      case 2 where !all.isEmpty:
        let gone = all.remove(at: Int.random(in: 0..<all.count, using: &random))
        tree.remove(gone.key, pattern: gone.pattern, object: gone.object)
      default:
        let (name, object) = (random.longName(), random.pick(["", "o", "u\u{308}", "ü", "other"]))
        let noneIsEvery = random.oneIn(2)
        var expected: Set<Int> = []
        for registration in all
        where registration.pattern.matches(name.utf8Bytes)
          && registration.object.map({
            Array($0.utf8) == Array(object.utf8) || noneIsEvery && object.isEmpty
          }) ?? true
        { expected.insert(registration.key) }
        var found: [Int] = []
        tree.forEach(matching: name, object: object, noneIsEvery: noneIsEvery) { found.append($0) }
        #expect(Set(found) == expected, "step \(step): \(name) \(object)")
      }
      #expect(tree.count == all.count)
      guard step % 50 == 0 else { continue }
      let fresh = PatternTree<Int>()
      for registration in all.shuffled(using: &random) {
        fresh.insert(registration.key, pattern: registration.pattern, object: registration.object)
      }
      // An unused node may need another one where its way forks.
      let nodes = fresh.extent.nodes
      #expect((nodes...nodes + 2 * unusedMax).contains(tree.extent.nodes), "step \(step)")
      #expect(tree.extent.texts == fresh.extent.texts, "step \(step)")
    }
    for registration in all {
      tree.remove(registration.key, pattern: registration.pattern, object: registration.object)
    }
    #expect(tree.isEmpty)
    #expect((1...1 + 2 * unusedMax).contains(tree.extent.nodes))
    #expect(tree.extent.texts == 0)
  }

  @Test("The node of the last removed pattern stays")
  func unused() throws {
    let tree = PatternTree<Int>(unusedMax: 1)
    for pattern in ["a.b", "c.d"] {
      tree.insert(1, pattern: try Pattern(pattern), object: nil)
      tree.remove(1, pattern: try Pattern(pattern), object: nil)
      #expect(tree.extent.nodes == 2)
    }
  }

  @Test("A key that was inserted many times under one pattern is found once")
  func dedupKey() throws {
    let tree = PatternTree<Int>()
    let pattern = try Pattern("a.*")
    for _ in 0..<1000 { tree.insert(1, pattern: pattern, object: "o") }
    tree.insert(2, pattern: pattern, object: "o")
    func found() -> [Int] {
      var found: [Int] = []
      tree.forEach(matching: "a.b", object: "o") { found.append($0) }
      return found.sorted()
    }
    #expect(found() == [1, 2])
    for _ in 0..<999 { tree.remove(1, pattern: pattern, object: "o") }
    #expect(found() == [1, 2])
    tree.remove(1, pattern: pattern, object: "o")
    #expect(found() == [2])
  }

  @Test(
    "The cost of a lookup is bounded by the number of registrations, whatever the stars",
    arguments: [2, 5, 8, 10, 11, 12, 13, 20, 60, 127])
  func cost(depth: Int) throws {
    let tree = PatternTree<Int>()
    var random = SplitMix64(seed: UInt64(depth))
    let name = Array(repeating: "a", count: depth).joined(separator: ".")
    var (tokens, patterns) = (0, 0)
    for number in 0..<min(32_768 / depth, 4096) {
      // Half of the patterns differ in their first tokens, to fork as often as possible.
      let stars = (0..<depth).map { place in
        number % 2 == 0 ? place < 20 && (number >> (place + 1)) & 1 == 1 : random.oneIn(2)
      }
      let pattern = try Pattern(stars.map { $0 ? "*" : "a" }.joined(separator: "."))
      tree.insert(number, pattern: pattern, object: nil)
      tokens += depth
      patterns += 1
    }
    var found = 0
    let cost = tree.forEach(matching: name, object: "") { _ in found += 1 }
    #expect(found == patterns, "each of them matches")
    #expect(cost <= tokens + 2 * patterns)
    #expect(tree.extent.nodes <= 2 * patterns + 1)
  }

  @Test("Patterns that are not on the path of a name do not slow its lookup", arguments: [nil, "door/1"])
  func foreignCost(object: String?) throws {
    let tree = PatternTree<Int>()
    tree.insert(0, pattern: try Pattern("shop.didOpen"), object: object)
    func cost() -> Int { tree.forEach(matching: "shop.didOpen", object: "", noneIsEvery: true) { _ in } }
    let alone = cost()
    for number in 0..<20_000 {
      for pattern in [
        "foreign\(number).*.x", "foreign\(number).**", "shop.other\(number)", "*.other\(number)",
      ] {
        tree.insert(number, pattern: try Pattern(pattern), object: object.map { _ in "door/\(number)" })
      }
    }
    #expect(cost() <= alone + 3)
  }
}

extension SplitMix64 {
  mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }

  mutating func name() -> String {
    (0..<Int.random(in: 1...4, using: &self)).map { _ in pick(["a", "b", "c"]) }.joined(separator: ".")
  }

  mutating func pattern() -> String {
    var tokens = (0..<Int.random(in: 1...4, using: &self)).map { _ in pick(["a", "b", "c", "*"]) }
    if oneIn(4) { tokens[tokens.count - 1] = "**" }
    return tokens.joined(separator: ".")
  }

  mutating func object() -> String { pick(["", "", "o", "p", "window/42"]) }
}

extension SplitMix64 {
  fileprivate mutating func longName() -> String {
    tokens(of: ["a", "a", "a", "a", "b", "c"]).joined(separator: ".")
  }

  fileprivate mutating func longPattern() -> String {
    var tokens = tokens(of: ["a", "a", "a", "a", "b", "*"])
    if oneIn(4) { tokens[tokens.count - 1] = "**" }
    return tokens.joined(separator: ".")
  }

  private mutating func tokens(of choices: [String]) -> [String] {
    (0..<Int.random(in: 1...(oneIn(8) ? 127 : 6), using: &self)).map { _ in pick(choices) }
  }
}

extension PatternTree {
  @discardableResult
  fileprivate func forEach(
    matching name: String, object: String, noneIsEvery: Bool = false, _ found: (Key) -> Void
  ) -> Int {
    forEach(matching: name.utf8Bytes, object: object.utf8Bytes, noneIsEvery: noneIsEvery, found)
  }
}
