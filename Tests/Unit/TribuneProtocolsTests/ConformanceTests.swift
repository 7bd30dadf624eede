// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneProtocols

@Suite("Conformance", .timeLimit(.minutes(15)))
struct ConformanceTests {
  private static func library() -> Library {
    Library.loading(
      """
      protocol Scroll {
        optional should scroll.shouldScroll ()
        required did scroll.didScroll ()
      }
      protocol Tap : Scroll { required did tap.didTap () optional value tap.target () -> () }
      protocol Strict : Scroll { required should scroll.shouldScroll () }
      protocol Other { required should shouldOther () }
      """
    ).library
  }

  private static func findings(
    object: String = "Scroll", stating names: [String], patterns: [String]
  ) throws -> NonConformance? {
    let library = library()
    let required = try #require(library[object])
    let patterns = try patterns.map { try Pattern($0) }
    do throws(NonConformance) {
      try library.conform(to: required, stating: names, patterns: patterns)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "a delegate conforms if it names the protocol or a child, and has all required and no unknown methods",
    arguments: [
      (["Scroll"], ["scroll.didScroll"]), (["Scroll"], ["scroll.shouldScroll", "scroll.didScroll"]),
      (["Scroll"], ["**"]), (["Scroll"], ["*.*"]), (["Scroll"], ["scroll.*", "*.didScroll"]),
      (["Tap"], ["scroll.didScroll", "tap.didTap"]), (["Other", "Tap"], ["scroll.didScroll", "tap.*"]),
      (["Scroll", "Strict"], ["scroll.*"]),
    ])
  func right(names: [String], patterns: [String]) throws {
    #expect(try Self.findings(stating: names, patterns: patterns) == nil)
  }

  @Test("a refusal has all reasons")
  func wrong() throws {
    let missing = ["scroll.didScroll"]
    let cases: [([String], [String], NonConformance, ErrorCode)] = [
      ([], ["scroll.didScroll"], .init(protocolName: "Scroll", lacksProtocol: true), .notConforming),
      (
        ["Other"], ["shouldOther"],
        .init(protocolName: "Scroll", lacksProtocol: true, missing: missing, surplus: ["shouldOther"]),
        .notConforming
      ),
      (
        ["Scroll"], ["scroll.shouldScroll", "tap.didTap", "scroll.*.*"],
        .init(protocolName: "Scroll", missing: missing, surplus: ["tap.didTap", "scroll.*.*"]), .notConforming
      ),
      (
        ["Tap"], ["scroll.shouldScroll"],
        .init(protocolName: "Scroll", missing: ["scroll.didScroll", "tap.didTap"]), .notConforming
      ),
      (
        ["Strict"], ["scroll.didScroll"],
        .init(protocolName: "Scroll", missing: ["scroll.shouldScroll"]), .notConforming
      ),
      (
        ["Scroll", "Nobody"], ["scroll.didScroll"],
        .init(protocolName: "Scroll", unknownProtocols: ["Nobody"]), .unknownProtocol
      ),
      (
        ["Nobody"], ["scroll.didScroll"],
        .init(protocolName: "Scroll", unknownProtocols: ["Nobody"], lacksProtocol: true), .notConforming
      ),
      (
        ["Scroll"], ["scroll.didScroll"],
        .init(protocolName: "Tap", lacksProtocol: true, missing: ["tap.didTap"]), .notConforming
      ),
    ]
    for (names, patterns, expected, code) in cases {
      var found = try #require(
        try Self.findings(object: expected.protocolName, stating: names, patterns: patterns))
      found.missing.sort()
      #expect(found == expected)
      #expect(found.refusal(by: "o").code == code)
    }
  }

  @Test("an object keeps a protocol that left the library, and children inherit from it by name")
  func lost() throws {
    var library = Self.library()
    let required = try #require(library["Scroll"])
    let patterns = [try Pattern("scroll.didScroll")]
    #expect(library.load([]) == [])
    try library.conform(to: required, stating: ["Scroll"], patterns: patterns)
    try library.add(
      ProtocolSource("protocol Scroll { optional should scroll.shouldMore () } protocol Heir : Scroll {}"),
      for: 1)
    try library.conform(
      to: required, stating: ["Heir"], patterns: patterns + [try Pattern("scroll.shouldMore")])
    #expect(throws: NonConformance.self) {
      try library.conform(to: required, stating: ["Heir"], patterns: [try Pattern("scroll.shouldMore")])
    }
  }

  @Test("the message of a refusal is cut at its limit")
  func words() {
    var findings = NonConformance(
      protocolName: "P", lacksProtocol: true, missing: ["a", "b"], surplus: ["c.*"])
    #expect(
      findings.refusal(by: "o\n").message
        == "it conforms neither to \"P\", the protocol of \"o\\n\", nor to one that inherits from it; "
        + "it does not respond to \"a\", "
        + "\"b\", which is required; its protocols have no method \"c.*\"")
    findings.missing = (0..<2_000).map { "method.number\($0)" }
    #expect(findings.refusal(by: "o").message.utf8.count <= WireLimits.reasonLength)
    #expect(findings.refusal(by: "o").message.hasSuffix("…"))
  }
}
