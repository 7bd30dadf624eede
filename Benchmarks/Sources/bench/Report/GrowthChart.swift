// SPDX-License-Identifier: Apache-2.0

/// A curve's medians over x on logarithmic axes. A stroke through each point goes from the least to the most.
struct GrowthChart {
  private static let width = 720.0
  private static let height = 380.0
  private static let left = 84.0
  private static let right = 160.0
  private static let top = 44.0
  private static let bottom = 52.0

  private struct Line {
    var title: String
    var style: String
    var points: [(x: Double, spread: Spread)]
  }

  private let curve: Curve
  private let unit: Unit
  private let lines: [Line]
  private let x: LogAxis
  private let y: LogAxis

  /// Nil if there is nothing to show.
  init?(_ result: CurveResult) {
    curve = result.curve
    guard let unit = result.curve.points.first?.work.unit else { return nil }
    self.unit = unit
    lines = result.subjects.enumerated().compactMap { place, subject in
      let points = result.points.compactMap { point in
        point.result.spread(of: subject).map { (x: Double(point.x), spread: $0) }
      }
      let style = Palette.style(of: subject, at: place)
      return points.isEmpty ? nil : Line(title: subject.title, style: style, points: points)
    }
    let spreads = lines.flatMap { $0.points.map(\.spread) }
    guard !spreads.isEmpty, spreads.allSatisfy({ $0.least > 0 }) else { return nil }
    x = LogAxis(
      holding: lines.flatMap { $0.points.map(\.x) }, base: curve.isOverBytes ? 4 : 10, from: Self.left,
      to: Self.width - Self.right)
    y = LogAxis(
      holding: spreads.flatMap { [$0.least, $0.most] }, from: Self.height - Self.bottom, to: Self.top)
  }

  var drawing: SVG {
    var svg = SVG(width: Self.width, height: Self.height, title: curve.title)
    svg.text(curve.title, at: .init(x: Self.left, y: 22), style: "strong")
    drawAxes(in: &svg)
    for line in lines { draw(line, in: &svg) }
    drawNames(in: &svg)
    return svg
  }

  private func drawAxes(in svg: inout SVG) {
    for tick in y.ticks(atMost: 8) {
      let place = y.place(of: tick)
      svg.line(.init(x: x.from, y: place), .init(x: x.to, y: place), style: "grid")
      svg.text(unit.text(tick), at: .init(x: x.from - 8, y: place + 4), anchor: .end, style: "faint")
    }
    for tick in x.ticks(atMost: 6) {
      let place = x.place(of: tick)
      svg.line(.init(x: place, y: y.from), .init(x: place, y: y.from + 5), style: "axis")
      let label = curve.isOverBytes ? Unit.bytes.text(tick) : Int(tick).grouped
      svg.text(label, at: .init(x: place, y: y.from + 20), anchor: .middle, style: "faint")
    }
    svg.line(.init(x: x.from, y: y.from), .init(x: x.to, y: y.from), style: "axis")
    svg.text(curve.xTitle, at: .init(x: (x.from + x.to) / 2, y: Self.height - 12), anchor: .middle)
    svg.text(curve.yTitle, at: .init(x: x.from - 8, y: Self.top - 10), anchor: .end)
  }

  private func draw(_ line: Line, in svg: inout SVG) {
    svg.path(
      line.points.map { .init(x: x.place(of: $0.x), y: y.place(of: $0.spread.median)) }, style: line.style)
    for point in line.points {
      let place = x.place(of: point.x)
      svg.line(
        .init(x: place, y: y.place(of: point.spread.least)),
        .init(x: place, y: y.place(of: point.spread.most)), style: "axis")
      svg.dot(.init(x: place, y: y.place(of: point.spread.median)), radius: 3, style: line.style)
    }
  }

  /// Puts each name beside its line's end, and close ones below each other.
  private func drawNames(in svg: inout SVG) {
    let ends = lines.compactMap { line in
      line.points.last.map { (line: line, y: y.place(of: $0.spread.median)) }
    }
    var next = Self.top
    for end in ends.sorted(by: { $0.y < $1.y }) {
      let place = max(end.y, next)
      svg.dot(.init(x: x.to + 16, y: place), radius: 4, style: end.line.style)
      svg.text(end.line.title, at: .init(x: x.to + 26, y: place + 4))
      next = place + 18
    }
  }
}

extension Int {
  /// `100,000`.
  var grouped: String {
    var digits = "\(magnitude)"
    var groups: [Substring] = []
    while digits.count > 3 {
      groups.insert(digits.suffix(3), at: 0)
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + ([digits[...]] + groups).joined(separator: ",")
  }
}
