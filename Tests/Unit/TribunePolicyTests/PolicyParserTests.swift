// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneWire

@Suite("Policy files", .timeLimit(.minutes(15)))
struct PolicyParserTests {
  private static func parsed(_ text: String) -> PolicyParser {
    var parser = PolicyParser(.ofTests)
    parser.read(Array(text.utf8), file: "p")
    return parser
  }

  @Test("A line has an effect, actions, names, an object and subjects; the rest is a comment")
  func line() throws {
    let parser = Self.parsed(
      "\u{FEFF}# nothing\n\n\tallow  list,observe a.** b.*  object:unit/*  user:ann,group:ops # why not\r\n")
    #expect(parser.diagnostics.isEmpty)
    let line = try #require(parser.lines.first)
    #expect(parser.lines.count == 1)
    #expect(line.effect == .allow && line.actions == [ActionSet(.list), ActionSet(.observe)])
    #expect(line.names.map(\.text) == ["a.**", "b.*"] && line.object?.text == "unit/*")
    #expect(line.who == [.user(1001), .group(2001)] && line.whoTexts == ["user:ann", "group:ops"])
    #expect(line.origin.description == "p:3")
    #expect(line.text == "allow  list,observe a.** b.*  object:unit/*  user:ann,group:ops")
  }

  @Test("A line that allows only hold can limit its length")
  func holdMax() {
    let parser = Self.parsed(
      """
      allow hold a.* max=4h user:ann
      allow hold a.* object:x max=1h30min user:ann
      allow hold a.* max=1s object:x user:ann
      allow hold a.* user:ann
      """)
    #expect(parser.diagnostics.isEmpty)
    #expect(
      parser.lines.map { $0.holdMax?.duration } == [.seconds(14_400), .seconds(5_400), .seconds(1), nil])
    #expect(parser.lines.first?.resolvedText == "allow hold a.* max=4h user:1001")
  }

  @Test(
    "A mistake has its place, and the lines around it are still read",
    arguments: [
      ("permit * ** user:ann", 1, "\"permit\" is neither allow nor deny"),
      ("allow post a", 1, "a line is: allow|deny"),
      ("# a\rdeny post a user:ann\r", 1, "it contains a carriage return: lines must end in line feeds"),
      ("allow hold user:ann", 1, "a line is"),
      ("allow hold,holt a user:ann", 12, "\"holt\" is no action; there are post, retain,"),
      ("allow post, a user:ann", 12, "\"\" is no action"),
      ("allow post a..b user:ann", 12, "\"a..b\" is not a pattern"),
      ("allow hold **.a user:ann", 12, "is not a pattern"),
      ("allow post a object:x* user:ann", 14, "\"x*\" is not a pattern of objects"),
      ("allow post a object:x object:y user:ann", 23, "one object"),
      ("allow post object:x a user:ann", 21, "object: comes after the names"),
      ("allow post object:x user:ann", 12, "the names are missing"),
      ("allow hold user:ann a user:bob", 12, "comes last"),
      ("allow hold max=4h a.* user:ann", 19, "max= comes after the names"),
      ("allow hold a.* max=4h max=4h user:ann", 23, "a line has one max= at most"),
      ("deny hold a.* max=4h user:ann", 15, "max= is for lines that allow hold, and no other action"),
      ("allow hold,ask a.* max=4h user:ann", 20, "max= is for lines that allow hold, and no other"),
      ("allow * a.* max=4h user:ann", 13, "max= is for lines that allow hold, and no other"),
      ("allow hold a.* max=soon user:ann", 16, "max=: \"soon\""),
      ("allow hold a.* max= user:ann", 16, "max=: "),
      ("allow hold a.* max=infinity user:ann", 16, "max=: "),
      ("allow hold a.* max=999ms user:ann", 16, "max= is at least 1s"),
      ("allow post a ann", 14, "\"ann\" does not say who"),
      ("allow post a label:x", 14, "\"label:x\" does not say who"),
      ("allow post a user:ann,,group:ops", 23, "does not say who"),
      ("allow post a user:", 14, "the name of the user is missing"),
      ("allow post a user:4294967295", 14, "is not the id of a user"),
      ("allow post a user:99999999999", 14, "is not the id of a user"),
      ("allow post a group:o*", 14, "which only user:* and unit: can have"),
      ("allow post a unit:", 14, "is not a unit"),
      ("allow post a unit:ci-[12].service", 14, "is not a unit"),
      ("allow post a unit:user@1000.service/a.service", 14, "has a slash"),
      ("allow post a user:broken", 14, "cannot be looked up"),
      ("allow post a\u{1}b user:ann", 12, "\\u{1}"),
    ] as [(String, Int, String)])
  func mistake(_ line: String, _ column: Int, _ message: String) throws {
    let parser = Self.parsed("allow * ** user:0\n\(line)\ndeny * x user:0")
    #expect(parser.lines.map(\.origin.number) == [1, 3])
    let diagnostic = try #require(parser.diagnostics.first)
    #expect(parser.diagnostics.count == 1 && !diagnostic.isWarning)
    #expect(diagnostic.line == 2 && diagnostic.column == column, "\(diagnostic)")
    #expect(diagnostic.message.contains(message), "\(diagnostic)")
  }

  @Test("Names and objects are read by their bytes, whichever scalars combine")
  func combining() {
    var parser = PolicyParser(NameLookup(user: { UInt32($0.utf8.count) }, group: { _ in nil }))
    let lines = ["\u{FC}", "u\u{308}", "\u{301}"].map { "allow post a object:\($0) user:\($0)\n" }
    parser.read(Array(lines.joined().utf8), file: "p")
    #expect(parser.diagnostics.isEmpty)
    #expect(parser.lines.map(\.who) == [[.user(2)], [.user(3)], [.user(2)]])
    #expect(parser.lines.map { $0.object?.text.utf8.count } == [2, 3, 2])
  }

  @Test("Text that is not UTF-8 is a mistake")
  func malformed() {
    var parser = PolicyParser(.ofTests)
    parser.read(Array("allow * ** user:".utf8) + [0xFF, 0x0A], file: "p")
    #expect(parser.lines.isEmpty && parser.diagnostics.map(\.description) == ["p:1:1: it is not UTF-8"])
  }

  @Test(
    "An unknown user or group is a warning in a line that allows, and an error in one that denies",
    arguments: ["user:nobody-here", "group:nobody-here", "user:ann,group:nobody-here"])
  func unknown(_ who: String) {
    let parser = Self.parsed("allow * ** \(who)\nallow * ** \(who)\ndeny * ** \(who)")
    #expect(parser.lines.count == 2 && parser.diagnostics.map(\.isWarning) == [true, true, false])
    #expect(parser.diagnostics.allSatisfy { $0.message.contains("matches nobody") })
    let policy = Policy(parser.lines)
    let request = Request(.post, .any, object: nil)
    #expect(policy.decision(on: request, by: Subject(user: 1001, groups: [2001])) == .notAllowed)
  }

  @Test(
    "A line with impossible conditions is a warning if it allows, and an error if it denies",
    arguments: [
      ("user:ann,user:bob", 10, "a process has one user"),
      ("user:ann,group:ops,user:root", 20, "a process has one user"),
      ("unit:a.service,unit:b.service", 16, "a process is in one unit"),
      ("unit:a*,unit:b.service", 9, "a process is in one unit"),
      ("unit:b.service,unit:a*", 16, "a process is in one unit"),
      ("unit:backup", 1, "no unit matches \"backup\": write unit:backup.service"),
      ("user:ann,unit:backup", 10, "no unit matches \"backup\""),
      ("unit:*.timer", 1, "no unit matches \"*.timer\""), ("unit:x.slice", 1, "no unit matches"),
      ("unit:ci-?-x", 1, "no unit matches \"ci-?-x\": write unit:ci-?-x.service"),
      ("unit:user@%U.service", 1, "no process is in a unit called \"user@%U.service\""),
      ("unit:a@.service", 1, "no process is in a unit called"),
    ])
  func unsatisfiable(_ who: String, _ column: Int, _ message: String) throws {
    for (effect, isWarning) in [("allow", true), ("deny", false)] {
      let parser = Self.parsed("allow * ** user:0\n\(effect) * a \(who)")
      let diagnostics = parser.diagnostics
      #expect(parser.lines.count == (isWarning ? 2 : 1))
      #expect(diagnostics.map(\.line) == [2] && diagnostics.map(\.isWarning) == [isWarning])
      #expect(diagnostics.first?.message.contains(message) == true, "\(diagnostics)")
      #expect(diagnostics.first?.column == effect.count + 5 + column)
    }
  }

  @Test(
    "A name that is never asked is a warning in a line that allows, and an error in one that denies",
    arguments: [
      ("hold", "host.reboot"), ("ask,override", "host.shouldreboot"), ("delegate,set", "*.shouldpoweroff"),
      ("hold", "host.shouldHalt host.halt"), ("*", "*"), ("list,hold", "Host.**"), ("*", "host.reboot.*"),
      ("hold", "repo.prune"), ("ask,override", "repo.willPrune"), ("hold,list", "host.powerOff"),
      ("*", "host.shouldreboot"), ("ask,post,hold", "backup.shouldprune"),
    ])
  func neverAsked(_ actions: String, _ names: String) {
    let parser = Self.parsed("allow \(actions) \(names) user:0\ndeny \(actions) \(names) object:a user:0")
    #expect(parser.lines.count == 1 && parser.diagnostics.map(\.isWarning) == [true, false])
    #expect(parser.diagnostics.allSatisfy { $0.message.contains("is never asked: did you mean ") })
    var tests = PolicyParser(.none)
    let name = names.split(separator: " ").last ?? ""
    tests.read(tests: Array("expect deny hold \(name) user:0".utf8), file: "t")
    #expect(tests.tests.isEmpty && tests.diagnostics.map(\.isWarning) == [false])
    let others =
      "deny post,ask host.reboot user:0\ndeny * host.reboot user:0\ndeny delegate host.willHalt user:0"
    #expect(Self.parsed(others).diagnostics.isEmpty)
  }

  @Test("A deny line or expectation for an object that is never asked about is an error")
  func neverAskedObject() {
    let line = "hold,ask unit.shouldStart object:nginx.service user:0"
    let parser = Self.parsed("allow \(line)\ndeny \(line)")
    #expect(parser.lines.count == 1 && parser.diagnostics.map(\.isWarning) == [true, false])
    #expect(parser.diagnostics.allSatisfy { $0.message.contains("did you mean unit/nginx.service?") })
    var tests = PolicyParser(.none)
    tests.read(tests: Array("expect deny hold unit.shouldStart object:nginx user:0".utf8), file: "t")
    #expect(tests.tests.isEmpty && tests.diagnostics.count == 1)
    #expect(
      Self.parsed("deny * unit.** object:unit/* user:0\ndeny hold ** object:a user:0").diagnostics.isEmpty)
  }

  @Test(
    "Conditions that are possible cause no warning",
    arguments: [
      "user:ann,user:1001", "user:*,user:ann", "user:root,group:ops,group:5", "unit:a.service,unit:a.service",
      "unit:a*,unit:*b.service", "unit:a*,unit:ab.scope", "unit:*", "unit:ci-?", "unit:a.*", "unit:a.s*",
      "unit:a*ice", "unit:a*e", "unit:a.mount", "unit:a.socket", "unit:dev-sda2.swap", "unit:user@*.service",
      "unit:?.scope", "user:ann,unit:a.service",
    ])
  func satisfiable(_ who: String) {
    #expect(Self.parsed("allow * ** \(who)\ndeny * ** \(who)").diagnostics.isEmpty)
  }

  @Test(
    "An expectation is about one process",
    arguments: ["user:ann,user:bob", "unit:a.service,unit:b.service", "unit:a*.service"])
  func severalProcesses(_ who: String) {
    var parser = PolicyParser(.ofTests)
    parser.read(tests: Array("expect deny post a \(who)".utf8), file: "t")
    #expect(parser.tests.isEmpty && parser.diagnostics.count == 1)
    #expect(
      parser.diagnostics.allSatisfy {
        !$0.isWarning && $0.message.contains(who.contains("*") ? "one unit" : "a process")
      })
  }

  @Test("Each name is looked up once")
  func lookups() {
    nonisolated(unsafe) var count = 0
    let lookup = NameLookup(
      user: { _ in
        unsafe count += 1
        return 7
      }, group: { _ in nil })
    var parser = PolicyParser(lookup)
    parser.read(Array(String(repeating: "allow * ** user:ann\n", count: 1000).utf8), file: "p")
    #expect(unsafe count == 1 && parser.lines.count == 1000)
  }

  @Test("Expectations are checked against the policy, and a wrong one names the line that decides")
  func expectations() {
    var parser = Self.parsed(
      """
      allow hold host.** group:ops
      deny  hold host.shouldHalt user:*
      allow ask,override ** unit:ci-*.service
      allow retain a user:*
      """)
    parser.read(
      tests: Array(
        """
        expect allow hold host.shouldReboot user:ann,group:ops
        expect deny hold host.** user:ann,group:ops
        expect deny hold host.shouldReboot user:ann
        expect allow override a.shouldB unit:ci-7.service
        expect allow hold host.shouldHalt group:ops
        expect deny hold host.shouldReboot object:x group:ops
        expect hold x user:ann
        expect deny hold x user:nobody-here
        expect allow retain a user:ann
        expect deny declare a.** user:ann
        expect deny monitor a.** object:x user:ann
        expect deny post tribune.a user:ann
        """.utf8), file: "t")
    let policy = Policy(parser.lines)
    #expect(
      parser.tests.compactMap { test in test.failure(of: policy).map { "\(test.origin): \($0)" } } == [
        "t:5: expected allow hold host.shouldHalt for group:ops: denied by p:2",
        "t:6: expected deny hold host.shouldReboot for \"x\" for group:ops: allowed by p:1",
        "t:9: expected allow retain a, which needs post, for user:ann: no line of the policy allows it",
      ])
    #expect(parser.diagnostics.filter { !$0.isWarning }.map(\.line) == [7, 8, 10, 11, 12])
  }
}

extension NameLookup {
  static let ofTests = NameLookup(
    user: { name in
      if name == "broken" { throw WireError(.invalidValue, "no answer") }
      return ["root": 0, "ann": 1001, "bob": 1002][name]
    }, group: { ["ops": 2001][$0] })
}
