// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Values from one power of the base to another, along a line on the paper.
struct LogAxis {
  let base: Double
  /// Exponents of the ends.
  let low: Int
  let high: Int
  let from: Double
  let to: Double

  /// Holds all values, which are above 0, between whole powers.
  init(holding values: [Double], base: Double = 10, from: Double, to: Double) {
    self.base = base
    self.from = from
    self.to = to
    let least = values.min() ?? 1
    let most = values.max() ?? 1
    // Rounding of logarithms must not push a power to the next one.
    low = Int((log(least) / log(base) + 1e-9).rounded(.down))
    high = max(low + 1, Int((log(most) / log(base) - 1e-9).rounded(.up)))
  }

  func place(of value: Double) -> Double {
    let share = (log(value) / log(base) - Double(low)) / Double(high - low)
    return from + share * (to - from)
  }

  /// All powers, or every second, or every third, …: as many as fit.
  func ticks(atMost count: Int) -> [Double] {
    let step = max(1, (high - low + count - 1) / count)
    return stride(from: low, through: high, by: step).map { pow(base, Double($0)) }
  }
}
