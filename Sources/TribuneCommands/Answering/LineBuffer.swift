// SPDX-License-Identifier: Apache-2.0

/// Puts lines together from the pieces in which input comes.
struct LineBuffer: Sendable {
  /// Bytes of a line that are kept; the rest of it is left out.
  private let limit: Int
  private var begun: [UInt8] = []
  private var hasBegun = false

  init(limit: Int) { self.limit = limit }

  /// Takes a piece.
  ///
  /// - Returns: the lines that it ends, without their ends.
  mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      begun += rest[..<end].prefix(limit - begun.count)
      lines.append(begun)
      begun = []
      hasBegun = false
      rest = rest[(end + 1)...]
    }
    begun += rest.prefix(limit - begun.count)
    hasBegun = hasBegun || !rest.isEmpty
    return lines
  }

  /// The line that was begun and not ended; nil if none was.
  mutating func finish() -> [UInt8]? {
    guard hasBegun else { return nil }
    defer {
      begun = []
      hasBegun = false
    }
    return begun
  }
}
