// SPDX-License-Identifier: Apache-2.0

/// The result of one turn of a subject.
enum Turn: Sendable {
  /// How long each trip took, and the processor time that the server took for all of them, in nanoseconds.
  case trips([UInt64], server: UInt64?)
  /// An amount of work, and the nanoseconds and the server's processor time that it took.
  case amount(Double, elapsed: UInt64, server: UInt64?)
  /// A quantity that was read, not timed.
  case quantity(Double)
}

/// The result of one round of a subject, in the work's unit.
struct Sample: Codable, Equatable, Sendable {
  /// The median of all trips, the rate of all turns together, or the median of all quantities.
  var value: Double
  /// The 99th percentile of all trips; a rate has none.
  var tail: Double?
  /// The processor time that the server took: nanoseconds for a trip; for a rate, processors.
  var server: Double?

  /// - Parameter turns: one or more, of one kind.
  init(_ turns: [Turn]) {
    var durations: [Double] = []
    var amount = 0.0
    var elapsed: UInt64 = 0
    var used: UInt64? = 0
    var quantities: [Double] = []
    for turn in turns {
      switch turn {
      case .trips(let found, let server):
        durations += found.map { Double($0) }
        used = used.flatMap { sum in server.map { sum + $0 } }
      case .amount(let done, let time, let server):
        amount += done
        elapsed += time
        used = used.flatMap { sum in server.map { sum + $0 } }
      case .quantity(let quantity):
        quantities.append(quantity)
      }
    }
    if elapsed > 0 {
      value = amount / (Double(elapsed) / 1e9)
      server = used.map { Double($0) / Double(elapsed) }
    } else if !durations.isEmpty {
      value = durations.quantile(0.5)
      tail = durations.quantile(0.99)
      server = used.map { Double($0) / Double(durations.count) }
    } else {
      value = quantities.quantile(0.5)
    }
  }
}

extension [Double] {
  /// The value below which this share of all values lies. The array must not be empty.
  func quantile(_ share: Double) -> Double {
    sorted()[Swift.min(count - 1, Int(Double(count) * share))]
  }
}

/// The spread of a figure over the rounds.
struct Spread: Codable, Equatable, Sendable {
  var median: Double
  var least: Double
  var most: Double

  /// Nil if there are none.
  init?(_ values: [Double]) {
    guard let least = values.min(), let most = values.max() else { return nil }
    let sorted = values.sorted()
    self.least = least
    self.most = most
    // Of an even number of values, the mean of the two in the middle.
    median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }
}
