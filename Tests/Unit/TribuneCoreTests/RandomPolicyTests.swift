// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@Suite("Random policies against a naive evaluator", .timeLimit(.minutes(15)))
struct RandomPolicyTests {
  private struct Line {
    var isAllow: Bool
    var actions: [String]
    var names: [String]
    var object: String?
    var who: [String]

    init(
      _ random: inout SplitMix64, about actions: [String] = ["post", "ask", "retain", "observe"],
      for who: [String]? = nil
    ) {
      let isAllow = !random.oneIn(3)
      self.isAllow = isAllow
      let chosen = random.oneIn(3) ? ["*"] : random.pick(actions, 1...3)
      self.actions = chosen
      // A line that denies * is a mistake, as is one that denies holds on a name that is no question.
      let isAboutHolds = chosen.contains("hold")
      names = random.pick(
        RandomPolicyTests.patterns.filter {
          isAllow || $0 != "*" && (!isAboutHolds || NameSyntax.canMatchQuestion($0))
        }, 1...2)
      object = random.oneIn(3) ? random.pick(["o/*", "o/1", "**", "%U", "o/%U"], 1...1)[0] : nil
      self.who =
        who
        ?? random.pick(
          ["user:*", "user:1", "user:2", "group:1", "group:12", "unit:a.service", "unit:*b*"], 1...2)
    }

    var text: String {
      ([isAllow ? "allow" : "deny", actions.joined(separator: ",")] + names
        + (object.map { ["object:\($0)"] } ?? []) + [who.joined(separator: ",")]).joined(separator: " ")
    }

    func isFor(_ subject: Subject) -> Bool {
      who.allSatisfy { condition in
        switch condition {
        case "user:*": true
        case "unit:a.service": subject.unit == "a.service"
        case "unit:*b*": subject.unit.contains("b")
        default: condition == "user:\(subject.user)" || condition == "group:\(subject.group)"
        }
      }
    }

    func matches(_ action: String, _ name: String, _ object: String, _ subject: Subject) -> Bool {
      guard actions.contains("*") || actions.contains(action) else { return false }
      return isFor(subject) && isAbout(object, for: subject)
        && names.contains { RandomPolicyTests.isFitting($0, name, ".", for: subject.user) }
    }

    func isAbout(_ object: String, for subject: Subject) -> Bool {
      guard let pattern = self.object else { return true }
      return !object.isEmpty && RandomPolicyTests.isFitting(pattern, object, "/", for: subject.user)
    }
  }

  private struct Subject {
    let user: UInt32
    let group: UInt32
    let unit: String

    init(_ user: UInt32, _ group: UInt32, _ unit: String) {
      (self.user, self.group, self.unit) = (user, group, unit)
    }
  }

  private static func isFitting(
    _ pattern: String, _ text: String, _ separator: Character, for user: UInt32
  ) -> Bool {
    let pattern = pattern.replacing("%U", with: "\(user)").split(separator: separator)
    let text = text.split(separator: separator, omittingEmptySubsequences: false)
    for (index, part) in pattern.enumerated() {
      if part == "**" { return text.count > index }
      guard index < text.count, part == "*" || part == text[index] else { return false }
    }
    return pattern.count == text.count
  }

  fileprivate static let patterns = [
    "a", "a.b", "a.*", "*.b", "a.**", "**", "*", "a.b.c", "*.*.c", "%U.**", "a.%U", "%U.%U", "a.1", "1.**",
  ]
  private static let names = ["a", "a.b", "a.b.c", "b.b", "1", "1.1", "2.1", "a.1", "a.2", "1.b", "12.x"]
  private static let objects = ["", "o/1", "o/2", "o", "1", "o/1/2"]
  private static let subjects = [
    Subject(1, 1, "a.service"), Subject(1, 12, ""), Subject(2, 1, "b.service"), Subject(2, 12, "ab.service"),
    Subject(12, 1, ""), Subject(3, 3, "a.service"),
  ]

  private func bus(with lines: [Line]) -> BusUnderTest {
    let bus = BusUnderTest()
    let rules = AccessRules.policy(Policy(text: lines.map(\.text)), exempt: [])
    bus.happen { $0.apply(rules, at: bus.now) }
    return bus
  }

  private func connect(_ subject: Subject, to bus: BusUnderTest) -> ConnectionSlot {
    bus.connect(uid: subject.user, gid: subject.group, units: PeerUnits(system: subject.unit))
  }

  private func mayPost(
    _ name: String, _ object: String, from slot: ConnectionSlot, on bus: BusUnderTest
  ) -> Bool {
    let key = ByteBuffer(holding: Array((name + object).utf8))
    do throws(WireError) {
      _ = try bus.bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: slot)
      return true
    } catch {
      return false
    }
  }

  @Test("Random policies decide each message as the naive evaluator does", arguments: Seeds.all)
  func messages(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let lines = (0..<Int.random(in: 0...12, using: &random)).map { _ in Line(&random) }
      let bus = bus(with: lines)
      let slots = Self.subjects.map { connect($0, to: bus) }
      // Twice: the second time uses remembered decisions.
      for _ in 0..<2 {
        for name in Self.names {
          for object in Self.objects {
            for (slot, subject) in zip(slots, Self.subjects) {
              let isAllowed = mayPost(name, object, from: slot, on: bus)
              let matching = lines.filter { $0.matches("post", name, object, subject) }
              let expected = !matching.isEmpty && matching.allSatisfy(\.isAllow)
              #expect(isAllowed == expected, "\(lines.map(\.text)) \(name) \(object) \(subject)")
            }
          }
        }
      }
    }
  }

  /// Compares patterns by all names that these patterns can tell apart.
  private struct Names {
    private static let all: [String] = {
      // The patterns lack z: it represents all other tokens, and as a fourth token all longer names.
      let tokens = ["a", "b", "c", "1", "2", "3", "12", "z"]
      let pairs = tokens.flatMap { first in tokens.map { "\(first).\($0)" } }
      let triples = pairs.flatMap { pair in tokens.map { "\(pair).\($0)" } }
      return tokens + pairs + triples + triples.map { "\($0).z" }
    }()

    private var matched: [String: Set<Int>] = [:]
    private var relations: [[String]: (contains: Bool, overlaps: Bool)] = [:]

    private mutating func names(_ pattern: String) -> Set<Int> {
      if let known = matched[pattern] { return known }
      let names = Set(Self.all.indices.filter { isFitting(pattern, Self.all[$0], ".", for: 0) })
      matched[pattern] = names
      return names
    }

    mutating func relation(_ pattern: String, _ other: String) -> (contains: Bool, overlaps: Bool) {
      if let known = relations[[pattern, other]] { return known }
      let (names, others) = (names(pattern), names(other))
      let relation = (names.isSuperset(of: others), !names.isDisjoint(with: others))
      relations[[pattern, other]] = relation
      return relation
    }
  }

  private static let registered =
    ["a", "a.b", "a.*", "*.b", "a.**", "**", "b.b", "a.b.c", "*.*.c"]
    + ["a.*.*", "*.*", "a.*.**", "1.**", "1.1", "2.*", "a.1", "a.2", "12.**", "*.1"]
  /// All objects that these patterns can tell apart; the first represents none.
  private static let allObjects = ["", "o", "1", "2", "3", "12", "o/1", "o/2", "o/3", "o/12", "o/z", "o/1/2"]

  /// `object` is empty for any.
  private func mayRegister(
    _ action: String, _ patterns: [String], _ object: String, _ lines: [Line], _ subject: Subject,
    _ names: inout Names
  ) -> Bool {
    let objects = object.isEmpty ? Self.allObjects : [object]
    return patterns.allSatisfy { pattern in
      var isAllowed = false
      for line in lines where line.actions.contains("*") || line.actions.contains(action) {
        guard line.isFor(subject) else { continue }
        let relations = line.names.map {
          names.relation($0.replacing("%U", with: "\(subject.user)"), pattern)
        }
        let areAbout = objects.map { line.isAbout($0, for: subject) }
        let contains = relations.contains(where: \.contains) && !areAbout.contains(false)
        let overlaps = relations.contains(where: \.overlaps) && areAbout.contains(true)
        if !line.isAllow, action == "observe" ? contains : overlaps { return false }
        if line.isAllow, contains { isAllowed = true }
      }
      return isAllowed
    }
  }

  @Test("Random policies decide each registration as all names and objects say", arguments: Seeds.all)
  func registrations(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var names = Names()
    for _ in 0..<50 {
      let lines = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        Line(&random, about: ["hold", "delegate", "observe", "post"])
      }
      let bus = bus(with: lines)
      var refused: Set<Serial> = []
      bus.onEffect = {
        guard case .refusal(_, let serial, let error) = $0 else { return }
        #expect(error.code == .notPermitted)
        refused.insert(serial)
      }
      for subject in Self.subjects {
        let slot = connect(subject, to: bus)
        refused = []
        var expected: Set<Serial> = []
        for round in 0..<12 {
          let patterns = random.pick(Self.registered, 1...2)
          let object = random.oneIn(2) ? "" : random.pick(Self.allObjects, 1...1)[0]
          let serial = Serial(round * 3)
          let isQuestion = NameSyntax.canMatchQuestion(patterns[0])
          if isQuestion { bus.hold(patterns[0], object: object, by: slot, serial: serial + 1) }
          bus.attach(patterns, to: object, by: slot, serial: serial + 2, label: "\(round)")
          bus.observe(patterns[0], object: object, by: slot, serial: serial + 3)
          let requests = [("hold", [patterns[0]]), ("delegate", patterns), ("observe", [patterns[0]])]
          for (index, (action, patterns)) in requests.enumerated() where isQuestion || action != "hold" {
            let number = serial + Serial(index + 1)
            if !mayRegister(action, patterns, object, lines, subject, &names) { expected.insert(number) }
            #expect(
              refused.contains(number) == expected.contains(number),
              "\(lines.map(\.text)) \(action) \(patterns) \(object) \(subject)")
          }
        }
      }
    }
  }

  @Test("10,000 lines about 1,000 users decide each message as the naive evaluator does")
  func manyLines() throws {
    var random = SplitMix64(seed: 1)
    let lines = (0..<10_000).map { number in
      let who = number.isMultiple(of: 1000) ? "group:\(number / 1000)" : "user:\(number % 1000)"
      return Line(&random, for: [number == 5000 ? "user:*" : who])
    }
    let bus = bus(with: lines)
    var decisions = [false: 0, true: 0]
    for _ in 0..<100 {
      let subject = Subject(.random(in: 0..<1000, using: &random), .random(in: 0..<10, using: &random), "")
      let slot = connect(subject, to: bus)
      let own = lines.filter { $0.isFor(subject) }
      for _ in 0..<10 {
        let name = random.pick(Self.names, 1...1)[0]
        let object = random.pick(Self.objects, 1...1)[0]
        let matching = own.filter { $0.matches("post", name, object, subject) }
        let expected = !matching.isEmpty && matching.allSatisfy(\.isAllow)
        decisions[expected, default: 0] += 1
        #expect(
          mayPost(name, object, from: slot, on: bus) == expected,
          "\(own.map(\.text)) \(name) \(object) \(subject)")
      }
    }
    #expect(decisions.values.allSatisfy { $0 > 50 }, "\(decisions)")
  }
}

extension SplitMix64 {
  fileprivate mutating func pick(_ values: [String], _ count: ClosedRange<Int>) -> [String] {
    Array(values.shuffled(using: &self).prefix(Int.random(in: count, using: &self)))
  }
}
