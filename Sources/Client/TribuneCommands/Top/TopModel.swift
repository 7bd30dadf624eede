// SPDX-License-Identifier: Apache-2.0

import Tribune

/// The state of `top`, without its terminal. Samples and keys change the state, and `TopRenderer` draws it.
struct TopModel: Sendable {
  enum Mode: Equatable, Sendable {
    case browsing
    case help
    case sorting(column: Int)
    case typing(Prompt, text: String)
  }

  enum Prompt: Sendable {
    case search, filter
  }

  struct Order: Equatable, Sendable {
    var column: Int
    var isAscending: Bool
  }

  private(set) var view: TopView
  var size: TopSize { didSet { keepSelectionVisible() } }
  var mode = Mode.browsing
  var problem: String?
  var isPaused = false
  var searched = ""
  var filter = "" { didSet { arrange() } }
  var isTree = true { didSet { takeGroups() } }

  private(set) var sample: TopSample?
  /// The sample before `sample`; nil if it was of another view.
  private(set) var earlier: TopSample?
  private(set) var rates: TopRates?
  private var groups: [TopGroup] = []
  private var orders: [TopView: Order] = [:]

  private(set) var rows: [TopRow] = []
  private(set) var selected = 0
  private(set) var first = 0

  init(view: TopView, size: TopSize) { (self.view, self.size) = (view, size) }

  var order: Order {
    get { orders[view] ?? Self.usualOrder(of: view.sortColumn, in: view) }
    set {
      orders[view] = newValue
      arrange()
    }
  }

  static func usualOrder(of column: Int, in view: TopView) -> Order {
    Order(column: column, isAscending: view.columns[column].isText)
  }

  mutating func take(_ sample: TopSample) {
    if let last = self.sample, last.view == sample.view {
      earlier = last
      rates = TopRates(from: last.snapshot, to: sample.snapshot)
    } else {
      // After a change of the view, this sample follows the previous one too soon for meaningful rates.
      earlier = nil
    }
    self.sample = sample
    problem = nil
    takeGroups()
  }

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

struct TopSize: Equatable, Sendable {
  var rows: Int
  var columns: Int

  var headerRows: Int { max(0, min(3, rows - 7)) }

  var tableRows: Int { max(0, rows - headerRows - 3) }
}

struct TopRates: Equatable, Sendable {
  /// Posts per second. All rates are nil if the bus restarted between the snapshots, which resets counters.
  var posts: Double?
  var deliveries: Double?
  var asks: Double?
  var vetoes: Double?
  var losses: Double?
  /// The fraction of time in which the bus worked, from 0 to 1.
  var busy: Double?

  init(from earlier: BusSnapshot, to later: BusSnapshot) {
    let span = earlier.moment.duration(to: later.moment)
    guard span > .zero, let growth = BusGrowth(from: earlier.status, to: later.status) else { return }
    func rate(_ count: Int) -> Double { Double(count) / (span / .seconds(1)) }
    (posts, deliveries, losses) = (rate(growth.posted), rate(growth.delivered), rate(growth.lost))
    (asks, vetoes) = (rate(growth.asked), rate(growth.vetoed))
    busy = min(1, growth.busy / span)
  }
}
