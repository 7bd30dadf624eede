// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The unit of a figure. Figures are kept in the base unit, and shown with three digits.
enum Unit: String, Codable, Sendable {
  case nanoseconds = "ns"
  case messagesPerSecond = "messages/s"
  case bytesPerSecond = "bytes/s"
  case bytes
  case count

  /// Whether greater figures are better.
  var isRate: Bool {
    switch self {
    case .messagesPerSecond, .bytesPerSecond: true
    case .nanoseconds, .bytes, .count: false
    }
  }

  private var scales: [(over: Double, Scale)] {
    switch self {
    case .nanoseconds:
      [(0, .init(1, "ns")), (1e3, .init(1e3, "µs")), (1e6, .init(1e6, "ms")), (1e9, .init(1e9, "s"))]
    case .messagesPerSecond: [(0, .init(1, "/s")), (1e3, .init(1e3, "k/s")), (1e6, .init(1e6, "M/s"))]
    case .bytesPerSecond:
      [(0, .init(1, "B/s")), (1e3, .init(1e3, "kB/s")), (1e6, .init(1e6, "MB/s")), (1e9, .init(1e9, "GB/s"))]
    case .bytes:
      [(0, .init(1, "B")), (1024, .init(1024, "KiB")), (1_048_576, .init(1_048_576, "MiB"))]
    case .count: [(0, .init(1, ""))]
    }
  }

  private struct Scale {
    var divisor: Double
    var suffix: String

    init(_ divisor: Double, _ suffix: String) {
      self.divisor = divisor
      self.suffix = suffix
    }
  }

  /// `45.1 µs`, `2.04 M/s`, `586 B`.
  func text(_ value: Double) -> String {
    let scale = scales.last { value >= $0.over }?.1 ?? scales[0].1
    let number = (value / scale.divisor).brief
    return scale.suffix.isEmpty ? number : "\(number) \(scale.suffix)"
  }
}

extension Double {
  /// With so many decimals, and no separators.
  func fixed(_ digits: Int) -> String {
    formatted(
      .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
  }

  /// With about three significant digits.
  var brief: String {
    if self == rounded(), magnitude < 1e6 { return fixed(0) }
    return fixed(magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2)
  }
}
