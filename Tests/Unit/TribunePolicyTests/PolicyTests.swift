// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@Suite("Decisions by a policy", .timeLimit(.minutes(15)))
struct PolicyTests {
  private static func policy(_ lines: String...) -> Policy {
    var parser = PolicyParser(.ofTests)
    parser.read(Array(lines.joined(separator: "\n").utf8), file: "p")
    precondition(parser.diagnostics.allSatisfy(\.isWarning))
    return Policy(parser.lines)
  }

  private static let ann = Subject(user: 1001, groups: [1001, 2001], unit: .known("backup.service"))

  @Test(
    "A line applies to its users, groups and units",
    arguments: [
      ("user:*", true), ("user:ann", true), ("user:1001", true), ("user:bob", false), ("group:ops", true),
      ("group:2002", false), ("unit:backup.service", true), ("unit:back*", true), ("unit:*.service", true),
      ("unit:b?ckup.*", true), ("unit:*b*s*e", true), ("unit:backup", false), ("unit:*.timer", false),
      ("user:ann,group:ops", true), ("user:ann,unit:other.service", false), ("user:bob,group:ops", false),
    ])
  func who(_ who: String, _ isAllowed: Bool) throws {
    let request = Request(.post, try Pattern("a.b"), object: "")
    #expect(
      Self.policy("allow post a.b \(who)").decision(on: request, by: Self.ann).isAllowed == isAllowed)
  }

  @Test(
    "An unverified unit allows nothing, and may be denied",
    arguments: [
      (.none, false, false), (.known("a.service"), true, true), (.known("b.service"), false, false),
      (.claimed("a.service"), false, true), (.claimed("b.service"), false, false), (.unknown, false, true),
    ] as [(Subject.Unit, Bool, Bool)])
  func unverified(_ unit: Subject.Unit, _ isAllowed: Bool, _ isDenied: Bool) throws {
    let request = Request(.post, try Pattern("a.b"), object: "")
    let subject = Subject(user: 0, unit: unit)
    let allowing = Self.policy("allow * ** unit:a.*").decision(on: request, by: subject)
    #expect(allowing.isAllowed == isAllowed)
    let denying = Self.policy("allow * ** user:*", "deny * ** unit:a.*").decision(on: request, by: subject)
    #expect(denying.isAllowed != isDenied)
  }

  @Test(
    "%U is the user's id",
    arguments: [
      ("user.%U.**", "user.1001.a", "", true), ("user.%U.**", "user.1002.a", "", false),
      ("user.%U.**", "user.10011.a", "", false), ("u%U.a", "u1001.a", "", true),
      ("%U.%U", "1001.1001", "", true), ("**", "a", "user/1001", true), ("**", "a", "user/1002", false),
    ])
  func userID(_ names: String, _ name: String, _ object: String, _ isAllowed: Bool) throws {
    let about = object.isEmpty ? "" : "object:user/%U"
    let request = Request(.post, try Pattern(name), object: object)
    let decision = Self.policy("allow post \(names) \(about) user:*").decision(on: request, by: Self.ann)
    #expect(decision.isAllowed == isAllowed)
  }

  @Test(
    "A registration must lie inside a line that allows it, and outside all that deny",
    arguments: [
      // Allowed, denied, pattern, object; the results for filtered actions and all others.
      ("a.**", "z", "a.b", "", true, true), ("a.**", "z", "a.**", "", true, true),
      ("a.**", "z", "a.*", "", true, true), ("a.**", "z", "*.b", "", false, false),
      ("a.**", "z", "**", "", false, false), ("a.*", "z", "a.**", "", false, false),
      ("a.*", "z", "a.b.c", "", false, false), ("a.b", "z", "a.*", "", false, false),
      ("a b", "z", "*", "", false, false), ("a b", "z", "b", "", true, true),
      ("**", "a.b", "a.*", "", true, false), ("**", "a.*", "a.b", "", false, false),
      ("**", "a.**", "b.**", "", true, true), ("**", "*.b", "a.**", "", true, false),
      ("**", "a.b object:o", "a.b", "", true, false), ("**", "a.b object:o", "a.b", "o", false, false),
      ("**", "a.b object:o", "a.b", "p", true, true), ("** object:v/*", "z", "a", "v/1", true, true),
      ("** object:v/*", "z", "a", "", false, false), ("** object:v/*", "z", "a", "v/1/2", false, false),
      ("** object:v/**", "z", "a", "v/1/2", true, true),
    ] as [(String, String, String, String, Bool, Bool)])
  func registration(
    _ allowed: String, _ denied: String, _ pattern: String, _ object: String, _ isObserved: Bool,
    _ isHeld: Bool
  ) throws {
    let policy = Self.policy("allow * \(allowed) user:*", "deny * \(denied) user:*")
    let object = object.isEmpty ? nil : object
    for action in [Action.observe, .delegate, .set, .hold, .declare, .monitor] {
      let decision = policy.decision(on: Request(action, try Pattern(pattern), object: object), by: Self.ann)
      #expect(decision.isAllowed == (action == .observe ? isObserved : isHeld), "\(action)")
    }
  }

  @Test(
    "A list has registrations of which a part is allowed",
    arguments: [
      ("host.**", "z", "**", true), ("host.**", "z", "host.*", true), ("host.**", "z", "unit.*", false),
      ("host.**", "host.secret", "host.*", true), ("host.**", "host.secret", "host.secret", false),
      ("host.**", "**", "host.a", false),
    ])
  func listing(_ allowed: String, _ denied: String, _ pattern: String, _ isListed: Bool) throws {
    let policy = Self.policy("allow list \(allowed) user:*", "deny list \(denied) user:*")
    let decision = policy.decision(on: Request(.list, try Pattern(pattern), object: nil), by: Self.ann)
    #expect(decision.isAllowed == isListed)
  }

  @Test("A decision names its line: the first that denies, or else the first that allows")
  func lines() throws {
    let policy = Self.policy(
      "allow post a user:bob", "allow post a user:*", "allow * ** user:ann", "deny post b user:*",
      "deny post ** group:ops")
    func decision(_ name: String, _ subject: Subject) throws -> Policy.Decision {
      policy.decision(on: Request(.post, try Pattern(name), object: ""), by: subject)
    }
    #expect(try decision("a", Subject(user: 1)) == .allowed(by: 1))
    #expect(try decision("b", Subject(user: 1001)) == .denied(by: 3))
    #expect(try decision("a", Self.ann) == .denied(by: 4))
    #expect(try decision("c", Subject(user: 1)) == .notAllowed)
    #expect(policy.reason(of: .denied(by: 4)) == "denied by p:5")
  }

  @Test("Near misses are the lines that would allow it if one condition were different")
  func nearMisses() throws {
    let policy = Self.policy(
      "allow hold host.** group:3000", "allow list host.** user:*", "allow hold host.shouldHalt user:*",
      "allow hold x user:*", "deny hold host.** user:*", "allow hold host.** user:bob,unit:x",
      "allow hold host.** user:ann,unit:x.service")
    let request = Request(.hold, try Pattern("host.*"), object: nil)
    let misses = policy.nearMisses(to: request, by: Self.ann, count: 10)
    #expect(
      misses.map { "\($0.index + 1) \($0.lacks)" } == [
        "1 needs group:3000", "2 does not allow hold", "3 allows only part of host.*",
        "6 needs user:bob, unit:x", "7 needs unit:x.service",
      ])
    #expect(policy.nearMisses(to: request, by: Self.ann, count: 2).count == 2)
  }

  @Test(
    "A line with an object covers neither messages without one nor an empty part, as a near miss shows",
    arguments: [
      ("*", "", false), ("**", "", false), ("*", "a", true), ("*", "a/b", false), ("*", "/", false),
      ("**", "a/b", true), ("**", "/", true), ("a/*", "a/", false), ("a/*", "a", false), ("a/*", "a/b", true),
      ("a/**", "a/", false), ("a/**", "a//", true), ("a/*/b", "a//b", false), ("a//b", "a//b", true),
      ("%U/*", "1001/b", true), ("%U/*", "1002/b", false), ("a/**", "a/\u{301}", true),
    ])
  func objects(_ pattern: String, _ object: String, _ matches: Bool) throws {
    for action in [Action.post, .hold] {
      let object = object.isEmpty && action == .hold ? nil : object
      let request = Request(action, try Pattern("x.y"), object: object)
      let allowing = Self.policy("allow \(action.name) x.* object:\(pattern) user:*")
      #expect(allowing.decision(on: request, by: Self.ann).isAllowed == matches)
      let misses = allowing.nearMisses(to: request, by: Self.ann, count: 10)
      let bound = pattern.replacing("%U", with: "1001")
      #expect(misses.map(\.lacks) == (matches ? [] : ["needs an object that matches \(bound)"]))
      let denying = Self.policy("allow * ** user:*", "deny * x.* object:\(pattern) user:*")
      let isDenied = !denying.decision(on: request, by: Self.ann).isAllowed
      #expect(isDenied == (matches || object == nil))
    }
  }

  @Test("A line whose object differs is a near miss only if its name matches")
  func nearMissesByObject() throws {
    let policy = Self.policy(
      "allow hold x.y object:o user:*", "allow hold z object:o user:*", "allow hold x.** object:p user:*",
      "allow hold x.** object:o group:3000", "allow observe x.** object:o user:*",
      "allow list *.y object:o user:*")
    func lacks(_ action: Action, _ pattern: String, _ object: String?) throws -> [String] {
      let request = Request(action, try Pattern(pattern), object: object)
      return policy.nearMisses(to: request, by: Self.ann, count: 10).map { "\($0.index + 1) \($0.lacks)" }
    }
    #expect(
      try lacks(.hold, "x.*", nil) == ["1 allows only part of x.*", "3 needs an object that matches p"])
    #expect(
      try lacks(.hold, "x.*", "o") == [
        "1 allows only part of x.*", "3 needs an object that matches p", "4 needs group:3000",
        "5 does not allow hold",
      ])
    #expect(try lacks(.list, "x.*", "q") == ["6 needs an object that matches o"])
  }

  @Test(
    "A policy that lets everybody do everything is recognized",
    arguments: [
      ("allow * ** user:*", true), ("allow * a ** user:*", true), ("allow post ** user:*", false),
      ("allow * ** object:x user:*", false), ("allow * ** user:root", false), ("deny * ** user:*", false),
    ])
  func open(_ line: String, _ isOpen: Bool) {
    #expect((Self.policy(line).opensAll != nil) == isOpen)
  }
}
