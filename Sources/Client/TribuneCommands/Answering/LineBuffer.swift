// SPDX-License-Identifier: Apache-2.0

/// Assembles lines from input that arrives in pieces.
struct LineBuffer: Sendable {
  /// Bytes of a line that are kept; the rest is dropped.
  private let limit: Int
  /// The unfinished last line; nil if there is none.
  private var partial: [UInt8]?

  init(limit: Int) { self.limit = limit }

  /// Takes a piece of input.
  ///
  /// - Returns: the lines that it completes, without their line feeds.
  mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      extend(by: rest[..<end])
      lines.append(finish() ?? [])
      rest = rest[(end + 1)...]
    }
    if !rest.isEmpty { extend(by: rest) }
    return lines
  }

  private mutating func extend(by bytes: ArraySlice<UInt8>) {
    var line = partial ?? []
    // The array has one owner, so that it grows in place.
    partial = nil
    line += bytes.prefix(limit - line.count)
    partial = line
  }

  /// Takes the unfinished last line; nil if there is none.
  mutating func finish() -> [UInt8]? {
    defer { partial = nil }
    return partial
  }
}
