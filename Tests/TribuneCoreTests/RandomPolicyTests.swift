// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@Suite("Random policies against a naive evaluator", .timeLimit(.minutes(15)))
struct RandomPolicyTests {
  /// A line in words, from which both the policy and the naive evaluator are made.
  private struct Line {
    var isAllow: Bool
    var actions: [String]
    var names: [String]
    var object: String?
    var who: [String]

    init(_ random: inout SplitMix64) {
      isAllow = !random.oneIn(3)
      actions = random.oneIn(3) ? ["*"] : random.pick(["post", "ask", "retain", "observe"], 1...3)
      names = random.pick(RandomPolicyTests.patterns, 1...2)
      object = random.oneIn(3) ? random.pick(["o/*", "o/1", "**", "%U", "o/%U"], 1...1)[0] : nil
      who = random.pick(
        ["user:*", "user:1", "user:2", "group:1", "group:12", "unit:a.service", "unit:*b*"], 1...2)
    }

    var text: String {
      ([isAllow ? "allow" : "deny", actions.joined(separator: ",")] + names
        + (object.map { ["object:\($0)"] } ?? []) + [who.joined(separator: ",")]).joined(separator: " ")
    }

    func matches(
      _ action: String, _ name: String, _ object: String, _ user: UInt32, _ group: UInt32, _ unit: String
    )
      -> Bool
    {
      func isFitting(_ pattern: String, _ text: String, _ separator: Character, _ rest: Bool = true) -> Bool {
        let pattern = pattern.replacing("%U", with: "\(user)").split(separator: separator)
        let text = text.split(separator: separator, omittingEmptySubsequences: false)
        for (index, part) in pattern.enumerated() {
          if part == "**" { return text.count > index }
          guard index < text.count, part == "*" || part == text[index] else { return false }
        }
        return pattern.count == text.count
      }
      guard actions.contains("*") || actions.contains(action) else { return false }
      guard names.contains(where: { isFitting($0, name, ".") }) else { return false }
      if let pattern = self.object {
        guard !object.isEmpty, isFitting(pattern, object, "/") else { return false }
      }
      return who.allSatisfy { condition in
        switch condition {
        case "user:*": true
        case "unit:a.service": unit == "a.service"
        case "unit:*b*": unit.contains("b")
        default: condition == "user:\(user)" || condition == "group:\(group)"
        }
      }
    }
  }

  fileprivate static let patterns = [
    "a", "a.b", "a.*", "*.b", "a.**", "**", "*", "a.b.c", "*.*.c", "%U.**", "a.%U", "%U.%U", "a.1", "1.**",
  ]
  private static let names = ["a", "a.b", "a.b.c", "b.b", "1", "1.1", "2.1", "a.1", "a.2", "1.b", "12.x"]
  private static let objects = ["", "o/1", "o/2", "o", "1", "o/1/2"]
  private static let subjects: [(user: UInt32, group: UInt32, unit: String)] = [
    (1, 1, "a.service"), (1, 12, ""), (2, 1, "b.service"), (2, 12, "ab.service"), (12, 1, ""),
    (3, 3, "a.service"),
  ]

  @Test("500 policies decide each message as the naive evaluator does", arguments: Seeds.all)
  func messages(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<(500 / Seeds.all.count + 1) {
      let lines = (0..<Int.random(in: 0...12, using: &random)).map { _ in Line(&random) }
      let bus = BusUnderTest()
      let rules = AccessRules.policy(Policy(text: lines.map(\.text)), exempt: [])
      bus.happen { $0.apply(rules, at: bus.now) }
      let slots = Self.subjects.map {
        bus.connect(uid: $0.user, gid: $0.group, units: PeerUnits(system: $0.unit))
      }
      // Twice, so that the second time uses what was remembered.
      for _ in 0..<2 {
        for name in Self.names {
          for object in Self.objects {
            let key = ByteBuffer(holding: Array((name + object).utf8))
            for (slot, subject) in zip(slots, Self.subjects) {
              var isAllowed = true
              do throws(WireError) {
                _ = try bus.bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: slot)
              } catch {
                isAllowed = false
              }
              let matching = lines.filter {
                $0.matches("post", name, object, subject.user, subject.group, subject.unit)
              }
              let expected = !matching.isEmpty && matching.allSatisfy(\.isAllow)
              #expect(isAllowed == expected, "\(lines.map(\.text)) \(name) \(object) \(subject)")
            }
          }
        }
      }
    }
  }
}

extension SplitMix64 {
  /// Some of the values, at least one.
  fileprivate mutating func pick(_ values: [String], _ count: ClosedRange<Int>) -> [String] {
    Array(values.shuffled(using: &self).prefix(Int.random(in: count, using: &self)))
  }
}
