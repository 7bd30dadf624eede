// SPDX-License-Identifier: Apache-2.0

/// A drawing with its own background, and colours for light and for dark.
struct SVG {
  struct Point: Equatable {
    var x: Double
    var y: Double
  }

  enum Anchor: String {
    case start
    case middle
    case end
  }

  let width: Double
  let height: Double
  let title: String
  private var elements: [String] = []

  init(width: Double, height: Double, title: String) {
    self.width = width
    self.height = height
    self.title = title
  }

  /// - Parameter style: classes of the style sheet, as in all functions here.
  mutating func rectangle(_ corner: Point, width: Double, height: Double, style: String) {
    elements.append(
      """
      <rect x="\(corner.x.fixed(1))" y="\(corner.y.fixed(1))" width="\(width.fixed(1))" \
      height="\(height.fixed(1))" class="\(style.escaped)"/>
      """)
  }

  mutating func line(_ from: Point, _ to: Point, style: String) {
    elements.append(
      """
      <line x1="\(from.x.fixed(1))" y1="\(from.y.fixed(1))" x2="\(to.x.fixed(1))" y2="\(to.y.fixed(1))" \
      class="\(style.escaped)"/>
      """)
  }

  mutating func path(_ points: [Point], style: String) {
    let all = points.map { "\($0.x.fixed(1)),\($0.y.fixed(1))" }.joined(separator: " ")
    elements.append("<polyline points=\"\(all)\" class=\"\(style.escaped)\"/>")
  }

  mutating func dot(_ center: Point, radius: Double, style: String) {
    elements.append(
      """
      <circle cx="\(center.x.fixed(1))" cy="\(center.y.fixed(1))" r="\(radius.fixed(1))" \
      class="\(style.escaped)"/>
      """)
  }

  mutating func text(_ text: String, at point: Point, anchor: Anchor = .start, style: String = "") {
    let classes = style.isEmpty ? "" : " class=\"\(style.escaped)\""
    elements.append(
      """
      <text x="\(point.x.fixed(1))" y="\(point.y.fixed(1))" text-anchor="\(anchor.rawValue)"\(classes)>\
      \(text.escaped)</text>
      """)
  }

  var document: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.fixed(0)) \(height.fixed(0))" \
    width="\(width.fixed(0))" height="\(height.fixed(0))" role="img" font-size="12" \
    font-family="system-ui, sans-serif">
    <title>\(title.escaped)</title>
    <style>
    \(Palette.styleSheet)
    </style>
    <rect width="100%" height="100%" class="ground"/>
    \(elements.joined(separator: "\n"))
    </svg>

    """
  }
}

extension String {
  /// As text or an attribute's value in XML.
  var escaped: String {
    var text = ""
    for character in self {
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      default: text.append(character)
      }
    }
    return text
  }
}
