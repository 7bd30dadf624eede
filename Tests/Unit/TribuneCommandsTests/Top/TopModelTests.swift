// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tribune
@testable import TribuneCommands

@Suite("The model of top", .timeLimit(.minutes(15)))
struct TopModelTests {
  @Test(
    "each view is sorted by its most important column, the highest first",
    arguments: TopView.allCases)
  func sortedAtFirst(view: TopView) {
    let model = TopModel(view: view, size: TopSize(rows: 24, columns: 80))
    #expect(!model.order.isAscending)
    #expect(!view.columns[model.order.column].isText)
  }

  @Test("F6 offers the columns, Enter sorts by the chosen one, and I turns the order round")
  func sorts() {
    var model = TopModel.showing(.names(3))
    #expect(model.column("NAME") == ["a.c", "a.b", "a.a"])
    #expect(model.press(.function(6)) == .none)
    #expect(model.mode == .sorting(column: model.order.column))
    _ = model.press(.up)
    _ = model.press(.up)
    #expect(model.mode == .sorting(column: 0))
    _ = model.press(.enter)
    #expect(model.mode == .browsing)
    #expect(model.column("NAME") == ["a.a", "a.b", "a.c"])
    model.type("I")
    #expect(model.column("NAME") == ["a.c", "a.b", "a.a"])
    model.type(">j")
    _ = model.press(.escape)
    #expect(model.order == TopModel.Order(column: 0, isAscending: false))
  }

  @Test(
    "each column can be sorted by, in both directions",
    arguments: [
      .names(3), .users, .connections,
      .delegates(
        [.made("a", approved: 1, times: [.seconds(1)]), .made("b", uid: 5, timedOut: 1)],
        .made(1, by: ":1", "p", asks: "n.m", .made("b", of: ":2"))),
      .queries(.made(1, by: ":1", "p", asks: "n.m", age: .seconds(2)), .made(2, by: ":2", "q", asks: "n.m")),
    ] as [TopSample])
  func sortsByEach(sample: TopSample) {
    for column in sample.view.columns.indices {
      var model = TopModel.showing(sample)
      _ = model.press(.function(6))
      model.type(String(repeating: "k", count: 20) + String(repeating: "j", count: column))
      _ = model.press(.enter)
      for isAscending in [sample.view.columns[column].isText, !sample.view.columns[column].isText] {
        let values = model.rows.map { $0.values[column] }
        #expect(values == (isAscending ? values.sorted() : values.sorted(by: >)))
        #expect(model.order == TopModel.Order(column: column, isAscending: isAscending))
        #expect(values.count > 1)
        model.type("I")
      }
    }
  }

  @Test("in the tree, rows of one query stay together in each order")
  func sortsTrees() {
    var model = TopModel.showing(
      .queries(
        .made(1, by: ":1", "young", asks: "n.m", age: .seconds(1), .made("B", of: ":2", for: .seconds(9))),
        .made(2, by: ":3", "old", asks: "n.m", age: .seconds(5), .made("C", of: ":4"))))
    #expect(
      model.column("WHO WAITS FOR WHOM") == [
        "old asks n.m", "└─ waits for C", "young asks n.m", "└─ waits for B",
      ])
    model.type("I")
    #expect(
      model.column("WHO WAITS FOR WHOM") == [
        "young asks n.m", "└─ waits for B", "old asks n.m", "└─ waits for C",
      ])
    _ = model.press(.function(5))
    #expect(model.rows.count == 2)
    model.type("\\for b")
    #expect(model.column("WHO WAITS FOR WHOM") == ["young asks n.m, and waits for B"])
    _ = model.press(.enter)
    model.type("t")
    #expect(model.column("WHO WAITS FOR WHOM") == ["young asks n.m", "└─ waits for B"])
  }

  @Test("a filter shows the rows with the text, ignoring case, until Esc")
  func filters() {
    var model = TopModel.showing(.names(3))
    model.type("\\A.Bx")
    #expect(model.rows.isEmpty)
    _ = model.press(.backspace)
    #expect(model.column("NAME") == ["a.b"])
    _ = model.press(.enter)
    #expect(model.mode == .browsing)
    #expect(model.column("NAME") == ["a.b"])
    model.take(.names(3, at: 2))
    #expect(model.column("NAME") == ["a.b"])
    _ = model.press(.function(4))
    #expect(model.mode == .typing(.filter, text: "A.B"))
    _ = model.press(.escape)
    #expect(model.rows.count == 3)
  }

  @Test("a search selects the first row with the text, and n the next one")
  func searches() {
    var model = TopModel.showing(.names(26))
    #expect(model.selected == 0)
    model.type("/a.b")
    #expect(model.rows[model.selected].values[0] == .text("a.b"))
    _ = model.press(.enter)
    model.type("n")
    #expect(model.rows[model.selected].values[0] == .text("a.b"))
    model.type("/a.")
    _ = model.press(.enter)
    let before = model.selected
    model.type("n")
    #expect(model.selected == (before + 1) % 26)
    model.type("/~")
    #expect(model.selected == (before + 1) % 26)
  }

  @Test(
    "the selection moves within the rows, and stays visible",
    arguments: [
      ([.down], 1, 0), ([.up], 0, 0), ([.character("j"), .character("j"), .character("k")], 1, 0),
      ([.pageDown], 4, 1), ([.end], 25, 22), ([.end, .home], 0, 0), ([.end, .pageUp], 21, 21),
      ([.end, .up], 24, 22), ([.pageDown, .pageDown, .pageUp], 4, 4),
    ] as [([TopKey], Int, Int)])
  func moves(keys: [TopKey], selected: Int, first: Int) {
    var model = TopModel.showing(.names(26), rows: 10)
    for key in keys { #expect(model.press(key) == .none) }
    #expect(model.selected == selected)
    #expect(model.first == first)
  }

  @Test("a smaller terminal and fewer rows keep the selection visible")
  func shrinks() {
    var model = TopModel.showing(.names(26), rows: 40)
    _ = model.press(.end)
    model.size = TopSize(rows: 10, columns: 40)
    #expect(model.selected == 25)
    #expect(model.first == 22)
    model.take(.names(2, at: 2))
    #expect(model.selected == 1)
    #expect(model.first == 0)
    model.take(.names(0, at: 4))
    #expect(model.selected == 0)
  }

  @Test(
    "keys change the view, and request a sample at once",
    arguments: [
      (.tab, .queries), (.backTab, .users), (.character("5"), .users), (.character("3"), .connections),
      (.function(5), .queries), (.character("t"), .queries),
    ] as [(TopKey, TopView)])
  func views(key: TopKey, view: TopView) {
    var model = TopModel.showing(.delegates([.made("a")]))
    #expect(model.press(key) == .refresh)
    #expect(model.view == view)
    #expect(model.rows.isEmpty)
    #expect(model.press(.character("1")) == .refresh)
    #expect(model.rows.count == 1)
  }

  @Test(
    "other keys",
    arguments: [
      ([.character("q")], .quit), ([.function(10)], .quit), ([.character("\u{C}")], .redraw),
      ([.character("Z")], .none), ([.character("Z"), .character("Z")], .refresh),
      ([.character("?"), .character("q")], .none), ([.function(1), .escape, .character("q")], .quit),
      ([.character("/"), .character("q")], .none), ([.character("x")], .none), ([.character("9")], .none),
    ] as [([TopKey], TopModel.Effect)])
  func effects(keys: [TopKey], effect: TopModel.Effect) {
    var model = TopModel.showing(.names(3))
    for key in keys.dropLast() { _ = model.press(key) }
    #expect(keys.last.map { model.press($0) } == effect)
  }

  @Test("control characters are not typed, and typed text is bounded")
  func typing() {
    var model = TopModel.showing(.names(3))
    model.type("\\\u{1}\u{9B}a")
    #expect(model.filter == "a")
    model.type(String(repeating: "a", count: 1_000))
    #expect(model.filter.count == 128)
  }

  @Test("a sample clears a problem, and a sample of another view gives no rows")
  func samples() {
    var model = TopModel.showing(.names(3))
    model.problem = "the bus is gone"
    model.take(.delegates([.made("a")]))
    #expect(model.problem == nil)
    #expect(model.rows.isEmpty)
  }
}
