// SPDX-License-Identifier: Apache-2.0

import Tribune

/// What `top` shows, as a value: samples and keys go in, and `TopRenderer` makes lines of it. It knows no terminal.
struct TopModel: Sendable {
  /// What a key means at the moment.
  enum Mode: Equatable, Sendable {
    case browsing
    case help
    /// A list of the columns, of which one is chosen.
    case sorting(column: Int)
    case typing(Prompt, text: String)
  }

  /// What is being typed.
  enum Prompt: Sendable {
    case search, filter
  }

  /// What the rows are sorted by.
  struct Order: Equatable, Sendable {
    var column: Int
    var isAscending: Bool
  }

  private(set) var view: TopView
  var size: TopSize { didSet { keepSelectionVisible() } }
  var mode = Mode.browsing
  /// Why the sample is not the latest; nil while the bus answers.
  var problem: String?
  var isPaused = false
  /// What was searched for last.
  var searched = ""
  /// Only rows with this text are shown; empty for all.
  var filter = "" { didSet { arrange() } }
  /// Whether queries are shown as a tree, of who waits for whom.
  var isTree = true { didSet { takeGroups() } }

  private(set) var sample: TopSample?
  /// The one before it, if that is of the same view.
  private(set) var earlier: TopSample?
  private(set) var rates: TopRates?
  private var groups: [TopGroup] = []
  private var orders: [TopView: Order] = [:]

  /// The rows that match the filter, in their order.
  private(set) var rows: [TopRow] = []
  /// The selected row, which is 0 if there are none.
  private(set) var selected = 0
  /// The first row that is visible.
  private(set) var first = 0

  init(view: TopView, size: TopSize) { (self.view, self.size) = (view, size) }

  var order: Order {
    get { orders[view] ?? Self.usualOrder(of: view.sortColumn, in: view) }
    set {
      orders[view] = newValue
      arrange()
    }
  }

  /// Texts begin with the first of the alphabet, and numbers with the highest.
  static func usualOrder(of column: Int, in view: TopView) -> Order {
    Order(column: column, isAscending: view.columns[column].isText)
  }

  mutating func take(_ sample: TopSample) {
    if let last = self.sample, last.view == sample.view {
      earlier = last
      rates = TopRates(from: last.snapshot, to: sample.snapshot)
    } else {
      // It follows a key, and rates over such a moment would say little.
      earlier = nil
    }
    self.sample = sample
    problem = nil
    takeGroups()
  }

  /// Shows another view, which has no rows until a sample of it is there.
  mutating func show(_ view: TopView) {
    guard view != self.view else { return }
    self.view = view
    (selected, first) = (0, 0)
    takeGroups()
  }

  mutating func select(_ row: Int) {
    selected = max(0, min(row, rows.count - 1))
    keepSelectionVisible()
  }

  /// Selects the next row that has the text that is searched for, from the row after so many on; stays if there is none.
  mutating func search(from distance: Int) {
    guard !searched.isEmpty, !rows.isEmpty else { return }
    let places = rows.indices.map { (selected + distance + $0) % rows.count }
    if let found = places.first(where: { rows[$0].contains(searched) }) { select(found) }
  }

  private mutating func takeGroups() {
    groups =
      if let sample, sample.view == view { sample.groups(since: earlier, isTree: isTree) } else { [] }
    arrange()
  }

  private mutating func arrange() {
    let shown = filter.isEmpty ? groups : groups.filter { $0.contains { $0.contains(filter) } }
    let (order, second) = (order, view.secondSortColumn)
    rows = shown.enumerated().sorted { one, other in
      guard one.element[0].isPast == other.element[0].isPast else { return other.element[0].isPast }
      let (first, last) = (one.element[0].values, other.element[0].values)
      if first[order.column] != last[order.column] {
        return (first[order.column] < last[order.column]) == order.isAscending
      }
      if first[second] != last[second] { return first[second] > last[second] }
      return one.offset < other.offset
    }.flatMap(\.element)
    select(selected)
  }

  private mutating func keepSelectionVisible() {
    let visible = size.tableRows
    if selected < first { first = selected }
    if visible > 0, selected >= first + visible { first = selected - visible + 1 }
    first = max(0, min(first, rows.count - visible))
  }
}
