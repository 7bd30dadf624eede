// SPDX-License-Identifier: Apache-2.0

/// All servers side by side, with a group of bars for each work that they share. Bars begin at 0, in the group's unit.
/// A bar is as long as the median; the stroke in it goes from the least to the most.
struct BarChart {
  private static let groupWidth = 400.0
  private static let gap = 24.0
  private static let margin = 20.0
  private static let names = 90.0
  private static let values = 76.0
  private static let bar = 16.0
  private static let pitch = 22.0
  private static let columns = 2

  private struct Bar {
    var title: String
    var style: String
    var spread: Spread?
  }

  private struct Group {
    var title: String
    var unit: Unit
    var bars: [Bar]
    var most: Double
  }

  private let groups: [Group]

  /// Nil if there is nothing to show.
  init?(_ works: [WorkResult]) {
    groups = works.compactMap { result in
      let bars = result.work.subjects.enumerated().map { place, subject in
        Bar(
          title: subject.title, style: Palette.style(of: subject, at: place),
          spread: result.spread(of: subject))
      }
      guard let most = bars.compactMap(\.spread?.most).max(), most > 0 else { return nil }
      return Group(title: result.work.title, unit: result.work.unit, bars: bars, most: most)
    }
    if groups.isEmpty { return nil }
  }

  var drawing: SVG {
    let rows = stride(from: 0, to: groups.count, by: Self.columns).map {
      groups[$0..<min(groups.count, $0 + Self.columns)]
    }
    let heights = rows.map { row in 34 + Double(row.map(\.bars.count).max() ?? 0) * Self.pitch }
    let columns = Double(min(groups.count, Self.columns))
    var svg = SVG(
      width: 2 * Self.margin + columns * Self.groupWidth + (columns - 1) * Self.gap,
      height: 2 * Self.margin + heights.reduce(0, +) + Double(rows.count - 1) * Self.gap,
      title: "Tribune beside what else could be used")
    var y = Self.margin
    for (row, height) in zip(rows, heights) {
      for (column, group) in row.enumerated() {
        let x = Self.margin + Double(column) * (Self.groupWidth + Self.gap)
        draw(group, at: .init(x: x, y: y), in: &svg)
      }
      y += height + Self.gap
    }
    return svg
  }

  private func draw(_ group: Group, at corner: SVG.Point, in svg: inout SVG) {
    svg.text(group.title, at: .init(x: corner.x, y: corner.y + 12), style: "strong")
    svg.text(
      group.unit.isRate ? "more is better" : "less is better",
      at: .init(x: corner.x + Self.groupWidth, y: corner.y + 12), anchor: .end, style: "faint")
    let zero = corner.x + Self.names
    let scale = (Self.groupWidth - Self.names - Self.values) / group.most
    for (place, bar) in group.bars.enumerated() {
      let top = corner.y + 26 + Double(place) * Self.pitch
      let middle = top + Self.bar / 2
      let isOurs = bar.title == Subject.tribune.title
      svg.text(
        bar.title, at: .init(x: zero - 8, y: middle + 4), anchor: .end, style: isOurs ? "strong" : "")
      guard let spread = bar.spread else {
        svg.text("not measured", at: .init(x: zero + 4, y: middle + 4), style: "faint")
        continue
      }
      svg.rectangle(
        .init(x: zero, y: top), width: max(1, spread.median * scale), height: Self.bar, style: bar.style)
      svg.line(
        .init(x: zero + spread.least * scale, y: middle), .init(x: zero + spread.most * scale, y: middle),
        style: "range")
      svg.text(
        group.unit.text(spread.median), at: .init(x: zero + spread.most * scale + 8, y: middle + 4),
        style: isOurs ? "strong" : "")
    }
    svg.line(
      .init(x: zero, y: corner.y + 22),
      .init(x: zero, y: corner.y + 26 + Double(group.bars.count) * Self.pitch), style: "axis")
  }
}
