// SPDX-License-Identifier: Apache-2.0

struct TopColumn: Equatable, Sendable {
  var title: String
  var width: Int
  var isText = false
  var growth = 0
  var isRate = false
  /// If the terminal is narrow, columns with the highest rank are dropped first; those with rank 0 stay.
  var rank = 0

  static func text(_ title: String, _ width: Int, growth: Int = 1, rank: Int = 0) -> TopColumn {
    TopColumn(title: title, width: width, isText: true, growth: growth, rank: rank)
  }

  static func number(_ title: String, _ width: Int, rank: Int = 0) -> TopColumn {
    TopColumn(title: title, width: width, rank: rank)
  }

  static func rate(_ title: String, _ width: Int) -> TopColumn {
    TopColumn(title: title, width: width, isRate: true)
  }
}

/// A table of `top`. The raw value is the word for `--view`.
enum TopView: String, CaseIterable, Sendable {
  case delegates, queries, connections, names, users

  var columns: [TopColumn] {
    switch self {
    case .delegates:
      [
        .text("LABEL", 8), .text("UNIT", 15), .number("UID", 5, rank: 1), .number("OPEN", 4),
        .number("OLDEST", 6), .number("DONE", 5, rank: 5), .number("LATE", 5, rank: 2),
        .number("FAIL", 5, rank: 6), .number("MEDIAN", 6, rank: 7), .number("P99", 5, rank: 3),
        .number("LONGEST", 7, rank: 4), .text("ROLE", 8, growth: 0, rank: 8),
      ]
    case .queries:
      [
        .number("AGE", 5), .number("LEFT", 5), .number("PID", 7, rank: 1), .number("UID", 5, rank: 3),
        .text("UNIT", 15, rank: 2), .number("QUERY", 6, rank: 4),
        .text("WHO WAITS FOR WHOM", 38, growth: 3),
      ]
    case .connections:
      [
        .number("CONN", 6), .number("PID", 7, rank: 2), .text("PROCESS", 10), .number("UID", 5, rank: 2),
        .text("UNIT", 15, rank: 3), .rate("POST/S", 6), .number("POSTED", 6, rank: 6), .number("QUEUED", 6),
        .number("LOST", 5, rank: 1), .number("QUERIES", 7, rank: 5), .number("OBSERV", 6, rank: 7),
        .number("DELEG", 5, rank: 8), .number("HOLDS", 5, rank: 9), .number("ACTING", 6, rank: 10),
        .text("STATE", 9, growth: 0, rank: 3), .number("AGE", 5, rank: 4),
      ]
    case .names:
      [
        .text("NAME", 18), .rate("ASK/S", 5), .number("ASKED", 5), .number("VETOED", 6, rank: 1),
        .number("CANCEL", 6, rank: 6), .number("LATE", 5, rank: 2), .number("FAIL", 5, rank: 4),
        .number("MEDIAN", 6, rank: 5), .number("P99", 5, rank: 1), .number("LONGEST", 7, rank: 3),
      ]
    case .users:
      [
        .number("UID", 6), .text("UNIT", 15), .number("CONNS", 5, rank: 1), .rate("POST/S", 6),
        .number("POSTED", 6), .number("BYTES", 5, rank: 2), .number("DELIVERED", 9, rank: 5),
        .number("LOST", 5, rank: 1), .number("ASKED", 5, rank: 3), .number("DENIED", 6, rank: 4),
        .number("REFUSED", 7, rank: 6),
      ]
    }
  }

  /// The columns by which the table is sorted at first. The highest values come first.
  private var sortTitles: (first: String, then: String) {
    switch self {
    case .delegates: ("OLDEST", "P99")
    case .queries: ("AGE", "QUERY")
    case .connections: ("POST/S", "QUEUED")
    case .names: ("ASK/S", "ASKED")
    case .users: ("POST/S", "POSTED")
    }
  }

  var sortColumn: Int { column(titled: sortTitles.first) }
  var secondSortColumn: Int { column(titled: sortTitles.then) }

  private func column(titled title: String) -> Int {
    guard let index = columns.firstIndex(where: { $0.title == title }) else {
      preconditionFailure("the view \(rawValue) has no column \(title)")
    }
    return index
  }

  var next: TopView { neighbour(1) }
  var previous: TopView { neighbour(Self.allCases.count - 1) }

  init?(number: Int) {
    guard Self.allCases.indices.contains(number - 1) else { return nil }
    self = Self.allCases[number - 1]
  }

  var number: Int { (Self.allCases.firstIndex(of: self) ?? 0) + 1 }

  private func neighbour(_ distance: Int) -> TopView {
    Self.allCases[(number - 1 + distance) % Self.allCases.count]
  }
}
