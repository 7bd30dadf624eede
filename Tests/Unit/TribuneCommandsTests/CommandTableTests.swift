// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

/// The table is complete, and the help has all of it.
@Suite("The table of options", .timeLimit(.minutes(15)))
struct CommandTableTests {
  private let table = CommandTable.standard

  private var rows: [OptionSyntax] { table.globals + table.verbs.flatMap(\.options) }

  @Test("every verb is in it, once")
  func verbs() {
    #expect(table.verbs.map(\.verb.rawValue).sorted() == VerbName.allCases.map(\.rawValue).sorted())
  }

  @Test("every option is in it, with one spelling and one kind of argument")
  func options() {
    for option in Option.allCases {
      let spellings = rows.filter { $0.option == option }.map { row in
        [String(describing: row.name), String(describing: row.letter), String(describing: row.argument)]
      }
      #expect(Set(spellings).count == 1, "\(option)")
    }
  }

  @Test("no two options are spelled the same")
  func spellings() {
    for row in rows {
      for other in rows where other.option != row.option {
        #expect(row.spelling != other.spelling)
        #expect(row.letter == nil || row.letter != other.letter)
      }
    }
  }

  @Test("the overview names every verb and every global option, and fits a terminal")
  func overview() {
    let help = HelpText().overview
    for verb in table.verbs {
      #expect(help.contains("\n  \(verb.verb.rawValue)"))
      #expect(help.contains(verb.summary))
    }
    for row in table.globals { #expect(help.contains(row.usage)) }
    for line in help.split(separator: "\n") { #expect(line.count <= 80) }
  }

  @Test(
    "a verb's help names its operands and every option that it takes, and fits a terminal",
    arguments: VerbName.allCases)
  func help(verb: VerbName) throws {
    let syntax = try #require(table.syntax(of: verb))
    let help = HelpText().text(of: syntax)
    #expect(help.hasPrefix("tribunectl \(verb.rawValue)"))
    #expect(help.contains(syntax.operands))
    for row in table.options(of: verb) { #expect(help.contains(row.usage)) }
    for line in help.split(separator: "\n") { #expect(line.count <= 80) }
  }
}
