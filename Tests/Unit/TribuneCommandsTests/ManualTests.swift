// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("Texts made from the table of options", .timeLimit(.minutes(15)))
struct ManualTests {
  private let table = CommandTable.self
  private let verbs = Manual.verbs
  private let options = Manual.options

  private func term(_ spellings: [String]) -> String { spellings.map(Roff.bold).joined(separator: ", ") }

  @Test("the man page has each verb, followed by its own options", arguments: VerbName.allCases)
  func verb(name: VerbName) throws {
    let syntax = VerbSyntax(name)
    let start = try #require(verbs.firstIndex { $0.hasPrefix(Roff.bold(name.rawValue)) })
    var depth = 0
    let rest = verbs[(start + 1)...].prefix { line in
      if line == ".RS" { depth += 1 }
      if line == ".RE" { depth -= 1 }
      return depth > 0 || line != ".TP"
    }
    #expect(verbs[start].hasSuffix(Roff.plain(syntax.usage)))
    for line in ([syntax.examples].filter { !$0.isEmpty } + syntax.paragraphs).flatMap(Roff.paragraph) {
      #expect(rest.contains(line))
    }
    for row in syntax.options {
      let place = try #require(rest.firstIndex { $0.hasPrefix(term(row.spellings)) })
      #expect(rest[place].hasSuffix(Roff.plain(row.usageOfArgument)))
      #expect(rest[place + 1].lowercased() == Roff.text(row.summary + ".").lowercased())
    }
    #expect(rest.count { $0 == ".TP" } == syntax.options.count)
  }

  @Test("the man page has the options of every verb")
  func globals() {
    #expect(options.count { $0 == ".TP" } == table.globals.count)
    for row in table.globals { #expect(options.contains { $0.hasPrefix(term(row.spellings)) }) }
  }

  @Test(
    "completions for bash, zsh and fish have every verb, option and value",
    arguments: ["bash", "zsh", "fish"])
  func completion(shell: String) throws {
    let text = try #require(Manual.completion(for: shell))
    #expect(Manual.completion(for: "csh") == nil)
    for verb in table.verbs { #expect(text.contains(verb.verb.rawValue)) }
    for row in table.distinctOptions {
      if let name = row.name { #expect(text.contains(shell == "fish" ? "-l \(name)" : "--\(name)")) }
      if let letter = row.letter { #expect(text.contains(shell == "fish" ? "-s \(letter)" : "-\(letter)")) }
      switch row.completion {
      case .words(let words), .list(let words): #expect(text.contains(words.joined(separator: " ")))
      default: break
      }
    }
  }

  @Test(
    "text contains no request and no escape of roff",
    arguments: [
      ("a \\ b", "a \\e b"), ("f~ `g` ^", "f\\(ti \\(gag\\(ga \\(ha"), ("\"a\"", "\\(dqa\\(dq"),
      (".a", "\\&.a"), ("'a", "\\&'a"), ("a-b", "a\\-b"), ("(--a-b=c)", "(\\fB\\-\\-a\\-b=c\\fR)"),
      ("a -- b", "a \\-\\- b"), ("--json,", "\\fB\\-\\-json\\fR,"),
    ])
  func escapes(text: String, expected: String) { #expect(Roff.text(text) == expected) }
}
