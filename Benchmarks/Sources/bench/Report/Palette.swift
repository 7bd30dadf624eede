// SPDX-License-Identifier: Apache-2.0

/// The charts' colours, for light and for dark. Bars and lines also have names, so that nobody depends on colours.
struct Palette {
  private var ground: String
  private var ink: String
  private var faint: String
  private var grid: String
  private var floor: String
  /// Tribune's first, then those of the peers.
  private var subjects: [String]

  private static let light = Palette(
    ground: "#ffffff", ink: "#1f2328", faint: "#59636e", grid: "#d8dee4", floor: "#8c959f",
    subjects: ["#1a62c7", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#d35400", "#117a8b"])
  private static let dark = Palette(
    ground: "#0d1117", ink: "#e6edf3", faint: "#9198a1", grid: "#30363d", floor: "#7d8590",
    subjects: ["#5aa2ff", "#ff7b6b", "#52c77c", "#cd8bea", "#e0b040", "#ff9d5c", "#4fc3d9"])

  /// The class of a subject's bars, lines and dots: a server has the same one in all charts, others depend on their
  /// place.
  static func style(of subject: Subject, at place: Int) -> String {
    if subject == .relay { return "floor" }
    if subject == .tribune { return "s0" }
    if let peer = Subject.peers.firstIndex(of: subject) { return "s\(peer + 1)" }
    return "s\(place % light.subjects.count)"
  }

  static let styleSheet = """
    \(light.rules)
    @media (prefers-color-scheme: dark) {
    \(dark.rules)
    }
    .strong { font-weight: 600; }
    .grid, .axis { stroke-width: 1; }
    .range { stroke-width: 1.5; }
    polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
    """

  private var rules: String {
    let own = [("floor", floor)] + subjects.enumerated().map { ("s\($0.offset)", $0.element) }
    return """
      .ground { fill: \(ground); }
      text { fill: \(ink); }
      text.faint { fill: \(faint); }
      .grid { stroke: \(grid); }
      .axis { stroke: \(faint); }
      .range { stroke: \(ink); }

      """
        + own.map { "rect.\($0), circle.\($0) { fill: \($1); }\npolyline.\($0) { stroke: \($1); }" }
        .joined(separator: "\n")
  }
}
