// SPDX-License-Identifier: Apache-2.0

/// Assembles lines from input that arrives in pieces.
struct LineBuffer: Sendable {
  /// Bytes of a line that are kept; the rest is dropped.
  private let limit: Int
  private var partial: [UInt8] = []
  private var hasBegun = false

  init(limit: Int) { self.limit = limit }

  /// Takes a piece of input.
  ///
  /// - Returns: the lines that it completes, without their line feeds.
  mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      partial += rest[..<end].prefix(limit - partial.count)
      lines.append(partial)
      partial = []
      hasBegun = false
      rest = rest[(end + 1)...]
    }
    partial += rest.prefix(limit - partial.count)
    hasBegun = hasBegun || !rest.isEmpty
    return lines
  }

  /// The unfinished last line; nil if there is none.
  mutating func finish() -> [UInt8]? {
    guard hasBegun else { return nil }
    defer {
      partial = []
      hasBegun = false
    }
    return partial
  }
}
