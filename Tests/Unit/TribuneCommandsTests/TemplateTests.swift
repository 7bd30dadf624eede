// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON

@testable import TribuneCommands

@Suite("Lists in a user's format", .timeLimit(.minutes(15)))
struct TemplateTests {
  private static func invocation(_ options: [Option: Invocation.Value]) -> Invocation {
    Invocation(verb: .holds, values: options)
  }

  private static let value = JSONValue.object([
    ("name", .string("a.b\u{1B}")), ("pid", .integer(12)), ("unit", .null),
    ("owners", .array([.object([("host", .string("db1"))])])), ("yes", .bool(true)), ("none", .array([])),
    ("userInfo", (try? JSONText(Array(#"{"ac": [1, "x"]}"#.utf8))).map { .text($0) } ?? .null),
  ])

  @Test(
    "a template has the members of a value, and nothing for missing ones",
    arguments: [
      ("{name}: {pid}", #"a.b\u{1b}: 12"#), ("{{{unit}}}|{nothing}|{pid.x}|", "{}|||"),
      ("{owners.0.host}{owners.1.host}", "db1"), ("{userInfo.ac.1} {userInfo.ac}", #"x [1,"x"]"#),
      ("{yes}", "true"),
    ])
  func members(text: String, expected: String) throws {
    #expect(try Template(text, of: .output).line(of: Self.value) == expected)
  }

  @Test("a brace alone and an empty name are refused", arguments: ["{", "a}", "{}", "{a..b}", "{.a}"])
  func braces(text: String) {
    #expect(throws: CommandError.self) { _ = try Template(text, of: .output) }
  }

  @Test("YAML has the members, and quotes ambiguous texts")
  func yaml() {
    #expect(
      Self.value.yaml == """
        name: "a.b\\u001b"
        pid: 12
        unit: null
        owners:
          - host: "db1"
        "yes": true
        none: []
        userInfo:
          ac:
            - 1
            - "x"
        """)
    #expect(JSONValue.string("x").yaml == "\"x\"")
    #expect(JSONValue.array([.array([.integer(1), .integer(2)]), .object([])]).yaml == "- - 1\n  - 2\n- {}")
  }

  private static func table() -> Table {
    var table = Table(["NAME", .number("AGE"), .number("PID"), .number("CONNECTION")])
    table.append(["b", "1min", "9", ":9"])
    table.append(["a", "350ms", "10", ":10"])
    table.append(["c", "2s", "", ":1"])
    return table
  }

  private static func arrangement(
    _ options: [Option: Invocation.Value]
  ) throws(CommandError) -> Table.Arrangement {
    let invocation = invocation(options)
    return try Table.Arrangement(invocation, for: Context.Output(invocation, isTerminal: false))
  }

  private static func names(_ options: [Option: Invocation.Value]) throws(CommandError) -> [Substring] {
    try table().arranged(by: arrangement(options))
      .text(hasHeader: false, isColoured: false).split(separator: "\n").map { $0.split(separator: " ")[0] }
  }

  @Test(
    "a table is sorted by a column, numbers and spans by their size",
    arguments: [
      ("name", ["a", "b", "c"]), ("-NAME", ["c", "b", "a"]), ("age", ["a", "c", "b"]),
      ("pid", ["b", "a", "c"]), ("connection", ["c", "b", "a"]),
    ])
  func sorted(by column: String, expected: [Substring]) throws {
    #expect(try Self.names([.sort: .text(column)]) == expected)
  }

  @Test("a table has the selected columns in their order, even if it is sorted by another")
  func columns() throws {
    let options: [Option: Invocation.Value] = [.columns: .text("pid,name"), .sort: .text("age")]
    let table = try Self.table().arranged(by: Self.arrangement(options))
    #expect(table.text(hasHeader: true, isColoured: false) == "PID  NAME\n 10  a\n  -  c\n  9  b\n")
  }

  @Test("an unknown column is refused, with the one that is meant")
  func unknownColumns() {
    for option in [Option.columns, .sort] {
      let error = #expect(throws: CommandError.self) { try Self.names([option: .text("nmae")]) }
      #expect(error?.message.contains("did you mean NAME?") == true)
      #expect(error?.status == ExitStatus.usage)
    }
  }

  @Test("only tables have columns")
  func valuesHaveNoColumns() {
    for output: [Option: Invocation.Value] in [
      [.output: .text("yaml")], [.shortJSON: .flag], [.json: .text("short")],
    ] {
      #expect(throws: CommandError.self) {
        _ = try Self.names(output.merging([.columns: .text("name")]) { $1 })
      }
    }
  }
}
