// SPDX-License-Identifier: Apache-2.0

/// What `top` says about its keys.
enum TopHelp {
  /// The last line of the terminal.
  static let bar = [
    ("F1", "Help"), ("F3", "Search"), ("F4", "Filter"), ("F5", "Tree"), ("F6", "SortBy"), ("F10", "Quit"),
  ]

  static let keys = [
    ("1 to 5, Tab", "another table: delegates, queries, …"),
    ("F5, t", "who waits for whom, as a tree or a list"),
    ("F6, >", "sort by another column"),
    ("I", "sort the other way round"),
    ("F3, /", "search; n: the next one"),
    ("F4, \\", "show only what has a text"),
    ("Z", "pause, and go on"),
    ("↑↓, j k, PgUp …", "move"),
    ("Ctrl-L", "draw again"),
    ("F1, h, ?", "this help"),
    ("q, F10, Ctrl-C", "quit"),
  ]

  static let lines =
    ["Nothing here changes the bus.", ""]
    + keys.map { key, meaning in
      "  " + key + String(repeating: " ", count: max(1, 17 - key.count)) + meaning
    } + [
      "", "! marks a delegate that a query has waited for,", "  for a second or longer.",
    ]
}
