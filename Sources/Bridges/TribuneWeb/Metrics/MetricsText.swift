// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// Metrics in OpenMetrics 1.0.0, or in Prometheus's older text format.
nonisolated package struct MetricsText {
  package enum Format: Equatable, Sendable {
    case openMetrics, classic

    /// - Parameter accept: the request's `Accept` field.
    package init(accept: String) {
      self = accept.contains("application/openmetrics-text") ? .openMetrics : .classic
    }

    var contentType: String {
      switch self {
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      case .classic: "text/plain; version=0.0.4; charset=utf-8"
      }
    }
  }

  private let format: Format
  private var output: [UInt8] = []

  package init(_ format: Format) { self.format = format }

  package consuming func finish() -> [UInt8] {
    if format == .openMetrics { output += "# EOF\n".utf8 }
    return output
  }

  /// `name` excludes `_total`, but includes the unit.
  package mutating func counter(
    _ name: String, unit: String? = nil, _ help: String, _ samples: [(labels: Labels, value: Double)]
  ) {
    head(format == .openMetrics ? name : "\(name)_total", "counter", unit, help)
    for (labels, value) in samples { sample("\(name)_total", labels, value) }
  }

  package mutating func counter(_ name: String, unit: String? = nil, _ help: String, _ value: Double) {
    counter(name, unit: unit, help, [(Labels(), value)])
  }

  package mutating func counter(_ name: String, unit: String? = nil, _ help: String, _ value: Int) {
    counter(name, unit: unit, help, Double(value))
  }

  package mutating func gauge(
    _ name: String, unit: String? = nil, _ help: String, _ samples: [(labels: Labels, value: Double)]
  ) {
    head(name, "gauge", unit, help)
    for (labels, value) in samples { sample(name, labels, value) }
  }

  package mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ value: Double) {
    gauge(name, unit: unit, help, [(Labels(), value)])
  }

  package mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ value: Int) {
    gauge(name, unit: unit, help, Double(value))
  }

  /// `name` excludes `_info`.
  package mutating func info(_ name: String, _ help: String, _ labels: Labels) {
    if format == .openMetrics {
      head(name, "info", nil, help)
    } else {
      head("\(name)_info", "gauge", nil, help)
    }
    sample("\(name)_info", labels, 1)
  }

  /// The buckets' upper bounds: fewer than the bus has, because each bucket is a time series in Prometheus.
  private static let boundsSeconds = [
    0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30,
  ]

  package mutating func histogram(
    _ name: String, unit: String, _ help: String, _ samples: [(labels: Labels, durations: DurationHistogram)]
  ) {
    head(name, "histogram", unit, help)
    for (labels, durations) in samples {
      var count = 0
      var rest = durations.buckets[...]
      for bound in Self.boundsSeconds {
        while let next = rest.first, next.upperBound <= .seconds(bound) {
          count += next.count
          rest.removeFirst()
        }
        sample("\(name)_bucket", labels.adding("le", Self.text(bound)), Double(count))
      }
      sample("\(name)_bucket", labels.adding("le", "+Inf"), Double(durations.count))
      sample("\(name)_count", labels, Double(durations.count))
      sample("\(name)_sum", labels, durations.sum / .seconds(1))
    }
  }

  // MARK: Lines

  private mutating func head(_ name: String, _ type: String, _ unit: String?, _ help: String) {
    output +=
      "# HELP \(name) \(Self.escaped(help, quoted: format == .openMetrics))\n# TYPE \(name) \(type)\n".utf8
    if let unit, format == .openMetrics { output += "# UNIT \(name) \(unit)\n".utf8 }
  }

  private mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
    output += name.utf8
    if !labels.text.isEmpty { output += "{\(labels.text)}".utf8 }
    output += " \(Self.text(value))\n".utf8
  }

  /// Formats integers with a fraction, because OpenMetrics requires one in the label `le`.
  private static func text(_ value: Double) -> String {
    value.rounded() == value && value.magnitude < 1e15 ? "\(Int(value)).0" : "\(value)"
  }

  static func escaped(_ text: String, quoted: Bool) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quoted: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
