// SPDX-License-Identifier: Apache-2.0

/// Numbers exported notifications, so importers can detect gaps.
nonisolated struct ExportCounter {
  static let namesMax = 1_024

  /// A new counter has a new instance, which shows importers a gap of unknown size.
  let instance = Instance()
  private var sequence: UInt64 = 0
  private var counts: [String: UInt64] = [:]

  /// Counts lost notifications of unknown names. The next number shows importers the gap.
  mutating func skip(_ count: UInt64) { sequence += count }

  /// Beyond `namesMax` names, the counts of all names restart, which can hide a gap.
  mutating func next(_ name: String) -> ExportNumber {
    sequence += 1
    if counts.count >= Self.namesMax, counts[name] == nil { counts = [:] }
    let count = (counts[name] ?? 0) + 1
    counts[name] = count
    return ExportNumber(sequence: sequence, count: count)
  }
}
