// SPDX-License-Identifier: Apache-2.0

nonisolated extension MetricsText {
  package struct Labels: Sendable {
    /// The labels without braces.
    private(set) var text = ""

    package init(_ labels: some Sequence<(String, String)> = []) {
      for (name, value) in labels { add(name, value) }
    }

    func adding(_ name: String, _ value: String) -> Labels {
      var labels = self
      labels.add(name, value)
      return labels
    }

    private mutating func add(_ name: String, _ value: String) {
      if !text.isEmpty { text += "," }
      text += "\(name)=\"\(MetricsText.escaped(value, quoted: true))\""
    }
  }
}
