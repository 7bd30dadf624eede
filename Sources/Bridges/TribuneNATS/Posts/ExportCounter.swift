// SPDX-License-Identifier: Apache-2.0

/// Numbers what this host exports, so that others see what they have missed.
nonisolated struct ExportCounter {
  static let namesMax = 1_024

  /// Distinguishes this series of numbers from all others: a new one begins where nobody knows what is missing.
  let instance = Instance()
  private var sequence: UInt64 = 0
  private var counts: [String: UInt64] = [:]

  /// So many were lost, of names that nobody knows: the next export has a number behind them.
  mutating func skip(_ count: UInt64) { sequence += count }

  /// The number of the next export. If there are too many names, their counts begin again: a gap just then goes unseen.
  mutating func next(_ name: String) -> ExportNumber {
    sequence += 1
    if counts.count >= Self.namesMax, counts[name] == nil { counts = [:] }
    let count = (counts[name] ?? 0) + 1
    counts[name] = count
    return ExportNumber(sequence: sequence, count: count)
  }
}
