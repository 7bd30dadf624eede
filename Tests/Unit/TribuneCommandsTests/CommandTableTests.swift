// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport

@testable import TribuneCommands

@Suite("The table of options", .timeLimit(.minutes(15)))
struct CommandTableTests {
  private let table = CommandTable.self

  private var rows: [OptionSyntax] { table.globals + table.verbs.flatMap(\.options) }

  @Test("the text of a verb begins with its name", arguments: VerbName.allCases)
  func verbs(verb: VerbName) { #expect(HelpParts(verb.text).head[0].hasPrefix(verb.rawValue)) }

  @Test("the table has every option, with one spelling and one kind of argument")
  func options() {
    for option in Option.allCases {
      let spellings = rows.filter { $0.option == option }.map { row in
        [
          String(describing: row.name), String(describing: row.letter),
          String(String(describing: row.argument).prefix { $0 != "(" }),
        ]
      }
      #expect(Set(spellings).count == 1, "\(option)")
    }
  }

  private func options(inHelpOf verb: VerbName) -> Set<String> {
    let help = HelpText().text(of: VerbSyntax(verb), isFull: true)
    var words: Set<String> = []
    for line in help.split(separator: "\n") {
      let row = line.drop { $0 == " " }
      guard row.first == "-", line.hasPrefix("  "), line.prefix(6).contains("-") else { continue }
      let term = row[..<(row.firstRange(of: "  ")?.lowerBound ?? row.endIndex)]
      var value = term.hasSuffix(" COUNT") ? "1" : ""
      if let equals = term.firstIndex(of: "="), !term.hasSuffix("]") {
        let argument = term[equals...].dropFirst()
        let isPlaceholder = argument.first?.isLowercase != true || argument.contains(":")
        value =
          argument.hasPrefix("SPAN") ? "1s" : isPlaceholder ? "1" : String(argument.prefix { $0.isLetter })
      }
      for word in term.split(separator: " ") where word.first == "-" {
        let name = word.prefix { $0 == "-" || $0.isLetter }
        words.insert(name + (value.isEmpty || !name.hasPrefix("--") ? "" : "=") + value)
      }
    }
    return words
  }

  @Test("a verb takes exactly the options in its help", arguments: VerbName.allCases)
  func documented(verb: VerbName) {
    let own = options(inHelpOf: verb)
    #expect(own.isSuperset(of: ["-h", "--help", "-j", "--json=short", "--address=1", "--reconnect=1s"]))
    for option in Set(VerbName.allCases.flatMap(options)) {
      let request = Result { () throws(CommandLineParser.UsageError) in
        try CommandLineParser.parse([verb.rawValue, "--help", option].map { Array($0.utf8) })
      }
      #expect((request == .success(.help(verb))) == own.contains(option), "\(option): \(request)")
    }
  }

  @Test(
    "options have the words that the code knows",
    arguments: [
      (Option.complete, LiveWords.allCases.map(\.rawValue)), (.view, TopView.allCases.map(\.rawValue)),
      (.scope, Scope.words), (.json, ["short", "pretty", "off"]),
    ])
  func choices(option: Option, words: [String]) {
    #expect(table.anyOption { $0.option == option }?.argument == .choice(words))
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
    let groups = help.split(separator: "\n").filter { $0.first != " " && $0.hasSuffix(":") }
    #expect(groups == ["Ask and act:", "Watch:", "Look up:", "Administer:", "Options:"])
    for line in help.split(separator: "\n") { #expect(line.count <= 80) }
  }

  @Test(
    "a verb's help names its operands and every option that it takes, and fits a terminal",
    arguments: VerbName.allCases)
  func help(verb: VerbName) {
    let syntax = VerbSyntax(verb)
    let full = HelpText().text(of: syntax, isFull: true)
    for row in syntax.allOptions { #expect(full.contains(row.usage)) }
    let short = HelpText().text(of: syntax, isFull: false)
    for row in syntax.options { #expect(short.contains(row.usage)) }
    #expect(short.count { $0 == "\n" } <= 40)
    #expect(short.contains(syntax.examples))
    let isList = [.list, .actions, .holds, .leases, .accounts, .introspect].contains(verb)
    #expect(syntax.options.count { [.columns, .sort].contains($0.option) } == (isList ? 2 : 0))
    for help in [short, full] {
      #expect(help.hasPrefix("tribunectl \(verb.rawValue)"))
      #expect(help.contains(syntax.operands))
      for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
  }

  @Test("the help on names has each row of the README's table, with the same verbs")
  func names() throws {
    let readme = try repositoryText("README.md").split(separator: "\n")
    let table = readme.drop { $0 != "| name | meaning | verbs |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
    func verbs(in text: some StringProtocol) -> Set<String> {
      Set(text.split { !$0.isLetter }.map { String($0) }).intersection(VerbName.allCases.map(\.rawValue))
    }
    #expect(table.count == 5)
    for row in table {
      let cells = row.split(separator: "|")
      try #require(cells.count == 3)
      let name = try #require(cells[0].split(separator: "`").dropFirst().first)
      let line = try #require(HelpText.names.split(separator: "\n").first { $0.hasPrefix("  \(name) ") })
      let takers = verbs(in: try #require(line.split(separator: "  ").last))
      #expect(takers == verbs(in: cells[2]) && !takers.isEmpty, "\(name)")
    }
  }

  private func words(of line: String) -> [String] {
    var words = [""]
    var quote: Character?
    for character in line {
      switch character {
      case quote: quote = nil
      case "'" where quote == nil, "\"" where quote == nil: quote = character
      case " " where quote == nil: words.append("")
      case "|" where quote == nil, ">" where quote == nil, "&" where quote == nil, "#" where quote == nil:
        return words.filter { !$0.isEmpty }
      default: words[words.count - 1].append(character)
      }
    }
    return words.filter { !$0.isEmpty }
  }

  @Test("the examples in the help are command lines of the verb", arguments: VerbName.allCases)
  func examples(verb: VerbName) throws {
    let lines = VerbSyntax(verb).examples.split(separator: "\n").map { String($0) }.filter {
      $0.contains("tribunectl")
    }
    #expect(verb == .version || (2...5).contains(lines.count))
    for line in lines where verb != .completion {
      let arguments = words(of: line.replacing("$TRIBUNE_QUERY", with: "7")).dropFirst().map {
        Array($0.utf8)
      }
      guard case .run(let invocation) = try CommandLineParser.parse(Array(arguments)) else {
        Issue.record("\(line) is not run")
        continue
      }
      #expect(invocation.verb == verb)
      do {
        _ = try verb.command.init(invocation)
      } catch {
        Issue.record("\(line): \(error.message)")
      }
    }
  }

  @Test(
    "words of other tools lead to a verb",
    arguments: [
      ("sub", "observe"), ("watch", "observe"), ("pub", "post"), ("inhibit", "hold"), ("call", "query"),
      ("hlod", "hold"),
    ])
  func neighbours(word: String, verb: String) {
    #expect(VerbName.hint(for: word) == " (did you mean \(verb)?)")
    #expect(VerbName(rawValue: word) == nil)
  }
}
