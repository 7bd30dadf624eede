// SPDX-License-Identifier: Apache-2.0

enum TopStyle: Int, CaseIterable, Sendable {
  case plain, bold, faint, warning, alarm
  case title
  case selected, selectedAlarm
}

struct StyledLine: Equatable, Sendable {
  struct Span: Equatable, Sendable {
    /// The first column. The preceding text can end earlier: characters that may be wide count twice.
    var column: Int
    var text: String
    var style: TopStyle
  }

  private(set) var spans: [Span] = []
  private let width: Int
  private(set) var room: Int

  init(width: Int) { (self.width, room) = (width, width) }

  var text: String {
    var text = spans.map(\.text).joined()
    while text.last == " " { text.removeLast() }
    return text
  }

  mutating func append(_ text: String, _ style: TopStyle = .plain) {
    append(safe: text.terminalSafe.cut(toColumns: room), style)
  }

  mutating func append(_ text: String, _ style: TopStyle, in cellWidth: Int, alignedRight: Bool = false) {
    let cellWidth = min(cellWidth, room)
    let cut = text.terminalSafe.cut(toColumns: cellWidth)
    let padding = String(repeating: " ", count: cellWidth - cut.columnCount)
    append(safe: alignedRight ? padding + cut : cut + padding, style)
  }

  mutating func fill(_ style: TopStyle) { append(safe: String(repeating: " ", count: room), style) }

  private mutating func append(safe text: String, _ style: TopStyle) {
    guard !text.isEmpty else { return }
    spans.append(Span(column: width - room, text: text, style: style))
    room -= text.columnCount
  }
}
