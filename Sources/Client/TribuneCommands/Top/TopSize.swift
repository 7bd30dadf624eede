// SPDX-License-Identifier: Apache-2.0

/// The size of a terminal, and what of it is for what.
struct TopSize: Equatable, Sendable {
  var rows: Int
  var columns: Int

  /// Lines about the bus, of which small terminals have fewer.
  var headerRows: Int { max(0, min(3, rows - 7)) }

  /// Lines of the table, without that of the columns' titles, the one of the views above it, and that of the keys below.
  var tableRows: Int { max(0, rows - headerRows - 3) }
}
