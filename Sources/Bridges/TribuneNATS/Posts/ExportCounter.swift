// SPDX-License-Identifier: Apache-2.0

/// Numbers exports, so that importers can detect gaps.
nonisolated struct ExportCounter {
  static let namesMax = 1_024

  /// Identifies the series of numbers. A new series means a gap of unknown size.
  let instance = Instance()
  private var sequence: UInt64 = 0
  private var counts: [String: UInt64] = [:]

  /// Skips numbers for losses of unknown names, so that the next number shows the gap.
  mutating func skip(_ count: UInt64) { sequence += count }

  /// The number of the next export of a name. With more than `namesMax` names, the counts restart, which can hide a
  /// gap.
  mutating func next(_ name: String) -> ExportNumber {
    sequence += 1
    if counts.count >= Self.namesMax, counts[name] == nil { counts = [:] }
    let count = (counts[name] ?? 0) + 1
    counts[name] = count
    return ExportNumber(sequence: sequence, count: count)
  }
}
