// SPDX-License-Identifier: Apache-2.0

/// Numbers exports, to let importers detect gaps.
nonisolated struct ExportCounter {
  static let namesMax = 1_024

  /// A new series means an unknown gap.
  let instance = Instance()
  private var sequence: UInt64 = 0
  private var counts: [String: UInt64] = [:]

  /// Notes losses of unknown names: the next number shows the gap.
  mutating func skip(_ count: UInt64) { sequence += count }

  /// Above `namesMax`, the counts restart, which can hide a gap.
  mutating func next(_ name: String) -> ExportNumber {
    sequence += 1
    if counts.count >= Self.namesMax, counts[name] == nil { counts = [:] }
    let count = (counts[name] ?? 0) + 1
    counts[name] = count
    return ExportNumber(sequence: sequence, count: count)
  }
}
