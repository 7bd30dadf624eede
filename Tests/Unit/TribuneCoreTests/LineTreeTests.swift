// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("The tree of a policy's lines")
struct LineTreeTests {
  private static func lines(_ text: [String]) -> [BoundLine] {
    Policy(text: text).bound(to: Subject(user: 1000))
  }

  private static func found(_ pattern: String, in lines: [BoundLine], overlapping: Bool) throws -> [Int] {
    var found: [Int] = []
    LineTree(lines, .deny).forEach(about: try Pattern(pattern), overlapping: overlapping) { found.append($0) }
    return found
  }

  @Test(
    "few of a thousand lines are examined for a registration",
    arguments: [
      ("user.1000.x5.a", 1), ("user.*.x5.**", 1), ("user.1000.z", 0), ("user", 0), ("host.x5", 0),
      ("**", 1000),
      ("user.1000.*.a", 1000), ("user.**", 1000),
    ])
  func few(pattern: String, count: Int) throws {
    let lines = Self.lines((0..<1000).map { "deny delegate user.*.x\($0).** user:*" })
    #expect(try Self.found(pattern, in: lines, overlapping: true).count == count)
  }

  @Test("a line that contains a pattern is found without lines that only overlap it")
  func containing() throws {
    let lines = Self.lines(
      ["a.**", "a.*", "a.b", "*.b", "**", "b", "a.b.*"].map { "deny delegate \($0) user:*" })
    func names(_ pattern: String, _ overlapping: Bool) throws -> Set<String> {
      Set(
        try Self.found(pattern, in: lines, overlapping: overlapping).flatMap { lines[$0].names.map(\.text) })
    }
    #expect(try names("a.b", false) == ["a.**", "a.*", "a.b", "*.b", "**"])
    #expect(try names("a.*", false) == ["a.**", "a.*", "**"])
    #expect(try names("a.*", true) == ["a.**", "a.*", "a.b", "*.b", "**"])
    #expect(try names("a.**", false) == ["a.**", "**"])
    #expect(try names("a.**", true) == ["a.**", "a.*", "a.b", "*.b", "**", "a.b.*"])
    #expect(try names("c", true) == ["**"])
  }
}
