// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@Suite("The groups of a process", .timeLimit(.minutes(15)))
struct GroupsTests {
  /// As many as a process can have, unsorted.
  private static let many = (0..<UInt32(65_536)).map { 2 * $0 }.reversed() as [UInt32]

  private static func policy(_ lines: [String]) -> Policy {
    var parser = PolicyParser(.ofTests)
    parser.read(Array(lines.joined(separator: "\n").utf8), file: "p")
    precondition(parser.diagnostics.allSatisfy(\.isWarning))
    return Policy(parser.lines)
  }

  @Test(
    "all are known of a process with few groups, whatever the policy names",
    arguments: [[], [9], [5, 9, 5], Array(1000..<1128)] as [[UInt32]], [[], [5, 7]] as [[UInt32]])
  func few(_ supplementary: [UInt32], _ named: [UInt32]) {
    let groups = Groups(primary: 100, supplementary: supplementary, named: named)
    #expect(groups.lookedUp == nil && groups == Groups(supplementary + [100]))
    #expect(groups.members == Set(supplementary + [100]).sorted())
    for group in [0, 5, 7, 9, 99, 100, 1000, 1127, 1128, .max] as [UInt32] {
      #expect(groups.contains(group) == (group == 100 || supplementary.contains(group)))
    }
  }

  @Test(
    "of a process with many groups, those in the policy are known", arguments: [1, 2, 131_070] as [UInt32])
  func many(_ primary: UInt32) {
    let named: [UInt32] = [0, 4, 5, 131_070, 131_071]
    let groups = Groups(primary: primary, supplementary: Self.many, named: named)
    #expect(groups.members == Set([primary, 0, 4, 131_070]).sorted() && groups.lookedUp == named)
    for (group, isMember) in [
      (primary, true), (0, true), (4, true), (5, false), (131_070, true), (131_071, false),
    ]
      as [(UInt32, Bool)]
    { #expect(groups.contains(group) == isMember, "\(group)") }
    for group in [3, 6, 131_068, 131_072, .max] as [UInt32] { #expect(groups.contains(group) == nil) }
  }

  @Test("one more than the limit is many, even if some are equal")
  func bound() {
    let kept = [UInt32](repeating: 7, count: Groups.keptMax)
    #expect(Groups(primary: 1, supplementary: kept, named: []) == [1, 7])
    #expect(Groups(primary: 1, supplementary: kept + [7], named: []) == Groups([1], lookedUp: []))
  }

  @Test("only the primary group is known if the others are not")
  func unknown() {
    let groups = Groups(primary: 1, supplementary: nil, named: [2])
    #expect(groups.contains(1) == true && groups.contains(2) == nil)
  }

  @Test(
    "A group with unknown membership allows nothing, and denies",
    arguments: [(1, true, true), (2, true, true), (3, false, false), (4, false, true)]
      as [(UInt32, Bool, Bool)])
  func deciding(_ group: UInt32, _ isAllowed: Bool, _ isDenied: Bool) throws {
    let request = Request(.post, try Pattern("a.b"), object: "")
    let subject = Subject(user: 1001, groups: Groups([1, 2], lookedUp: [2, 3]))
    let allowing = Self.policy(["allow * ** group:\(group)"])
    #expect(allowing.decision(on: request, by: subject).isAllowed == isAllowed)
    #expect(
      allowing.nearMisses(to: request, by: subject, count: 9).map(\.lacks)
        == (isAllowed ? [] : ["needs group:\(group)"]))
    let denying = Self.policy(["allow * ** user:*", "deny * ** group:\(group)"])
    #expect(denying.decision(on: request, by: subject).isAllowed != isDenied)
  }

  @Test("A policy names the groups of all its lines")
  func named() {
    let policy = Self.policy([
      "allow * ** group:7", "deny post a group:3,user:ann", "allow post b group:7,group:5",
      "allow ask c user:9",
      "allow ask c unit:group.service",
    ])
    #expect(policy.namedGroups == [3, 5, 7])
  }
}
