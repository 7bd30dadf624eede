// SPDX-License-Identifier: Apache-2.0

/// Assembles lines from input that arrives in pieces.
struct LineBuffer: Sendable {
  /// Bytes of a line that are kept; the rest is dropped.
  private let limit: Int
  private var begun: [UInt8] = []
  private var hasBegun = false

  init(limit: Int) { self.limit = limit }

  /// Takes a piece of input.
  ///
  /// - Returns: the lines that it completes, without their line feeds.
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

  /// The unfinished last line; nil if there is none.
  mutating func finish() -> [UInt8]? {
    guard hasBegun else { return nil }
    defer {
      begun = []
      hasBegun = false
    }
    return begun
  }
}
