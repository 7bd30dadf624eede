// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune
@testable import TribuneCommands

@Suite("The lines of top", .timeLimit(.minutes(15)))
struct TopRendererTests {
  private static let scene = TopSample.delegates(
    [.made("fast", approved: 12, times: [.milliseconds(2)])],
    .made(1, by: ":1", "a", asks: "n.m", .made("hung\u{1B}[2J", of: ":2", for: .seconds(2), uid: 5)))

  private static func text(of model: TopModel) -> [String] { TopRenderer.lines(of: model).map(\.text) }

  @Test("at 80 columns, a hung delegate comes first with a mark, and its label is escaped")
  func delegates() {
    let model = TopModel.showing(Self.scene)
    let lines = TopRenderer.lines(of: model)
    #expect(
      lines.map(\.text) == [
        "bus unix:/bus  up 0us  connections 0  queries 0  posts -/s  deliveries -/s",
        "asks -/s  vetoes -/s  lost 0  busy -  longest iteration 0us  log 0 of 0",
        "delegates 0  holds 0", "1 delegates  2 queries  3 connections  4 names  5 users",
        "  LABEL      UNIT                UID OPEN OLDEST  DONE  LATE  FAIL   P99 LONGEST",
        "! hung\\u{1b… -                     5    1   2.0s     0     0     0     -       -",
        "  fast       -                     0    0      -    12     0     0   2ms     2ms",
      ] + [String](repeating: "", count: 16) + ["F1Help F3Search F4Filter F5Tree F6SortBy F10Quit"])
    #expect(lines[5].spans.allSatisfy { $0.style == .selectedAlarm } && lines[5].room == 0)
    #expect(lines[6].spans.allSatisfy { $0.style == .plain })
  }

  @Test("a narrow terminal has fewer columns, and a low one fewer lines about the bus")
  func small() {
    #expect(
      Self.text(of: .showing(Self.scene, rows: 10, columns: 40)) == [
        "bus unix:/bus  up 0us  connections 0", "queries 0  posts -/s  deliveries -/s",
        "asks -/s  vetoes -/s  lost 0  busy -", "1 delegates  2  3  4  5",
        "  LABEL     UNIT             OPEN OLDEST", "! hung\\u{1… -                   1   2.0s",
        "  fast      -                   0      -", "", "", "F1Help F3Search F4Filter F5Tree F6SortBy",
      ])
  }

  @Test(
    "no line is wider or lower than the terminal, however small",
    arguments: [(1, 1), (2, 3), (3, 80), (5, 10), (10, 40), (24, 80), (50, 300)], TopView.allCases)
  func bounded(size: (rows: Int, columns: Int), view: TopView) {
    var model = TopModel.showing(Self.scene, rows: size.rows, columns: size.columns)
    model.show(view)
    for keys in ["", "?", ">", "/漢字", "\\漢"] {
      var model = model
      model.type(keys)
      let lines = TopRenderer.lines(of: model)
      #expect(lines.count == size.rows)
      for line in lines {
        #expect(line.spans.reduce(0) { $0 + $1.text.columnCount } + line.room == size.columns)
        #expect(line.room >= 0)
      }
    }
  }

  @Test(
    "wide characters take two columns, and are not split",
    arguments: [
      ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 4, "漢字"), ("漢字", 3, "漢…"), ("漢字", 2, "…"),
      ("a漢", 2, "a…"), ("🙂", 1, "…"), ("x", 0, ""), ("\u{1B}[2J", 4, "\\u{…"),
    ] as [(String, Int, String)])
  func wide(text: String, width: Int, shown: String) {
    var line = StyledLine(width: width)
    line.append(text)
    #expect(line.text == shown)
    var cell = StyledLine(width: 10)
    cell.append(text, .plain, in: width, alignedRight: true)
    #expect(cell.room == 10 - width)
    #expect(cell.text.hasSuffix(shown))
  }

  @Test("a problem takes the place of the views' names, and the old rows stay")
  func problem() {
    var model = TopModel.showing(Self.scene)
    model.problem = "the bus is gone, trying again"
    let lines = TopRenderer.lines(of: model)
    #expect(lines[3].spans == [.init(column: 0, text: "the bus is gone, trying again", style: .alarm)])
    #expect(lines[5].text.hasPrefix("! hung"))
  }

  @Test(
    "a table without rows shows the reason",
    arguments: [
      (.refused(.users, "not you"), "", "not you"),
      (.made(.queries), "", "no query is under way: nobody waits for anybody"),
      (.made(.users), "", "there are none"), (.names(3), "\\zzz", "nothing matches"),
      (.names(3), "1", "waiting for the bus"),
    ] as [(TopSample, String, String)])
  func empty(sample: TopSample, keys: String, reason: String) {
    var model = TopModel.showing(sample)
    model.type(keys)
    #expect(Self.text(of: model)[5] == reason)
  }

  @Test("a user who may not see everything is told so, with rows and without")
  func restricted() {
    var sample = TopSample.names(3)
    sample.restriction = "not you"
    #expect(Self.text(of: TopModel.showing(sample))[3].hasSuffix("not all is shown"))
    sample.snapshot.names = []
    #expect(Self.text(of: TopModel.showing(sample))[5] == "nothing that you may see: not you")
  }

  @Test("the last line shows what is typed")
  func prompts() {
    var model = TopModel.showing(.names(3))
    model.type("/漢")
    #expect(Self.text(of: model).last == "Search: 漢_")
    _ = model.press(.enter)
    model.type("\\b")
    #expect(Self.text(of: model).last == "Show only: b_")
    _ = model.press(.enter)
    #expect(Self.text(of: model).last == "F1Help F3Search F4Filter F5Tree F6SortBy F10Quit only: b")
  }

  @Test("the list of columns stands beside the rows, and follows the chosen one")
  func columnPanel() {
    var model = TopModel.showing(.names(3), rows: 10)
    model.type(">")
    #expect(Self.text(of: model)[4].hasPrefix("Sort by         NAME"))
    #expect(Self.text(of: model)[5].hasPrefix("NAME            a.c"))
    #expect(Self.text(of: model)[7].hasPrefix("ASKED           a.a"))
    for _ in 0..<9 { model.type("j") }
    #expect(Self.text(of: model)[8].hasPrefix("LONGEST"))
  }

  @Test("the help has the keys of the last line")
  func help() {
    var model = TopModel.showing(.names(3))
    _ = model.press(.function(1))
    let text = Self.text(of: model).joined(separator: "\n")
    for (key, _) in TopHelp.bar { #expect(text.contains(key)) }
    #expect(Self.text(of: model).last == "Any key goes back.")
  }
}
