// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// All that is measured, in the report's order.
struct Catalogue {
  var works: [Work]
  var curves: [Curve]

  init(_ effort: Effort, _ programs: Programs) {
    works =
      Self.askWorks(effort) + Self.streamWorks(effort) + Self.besideWorks(effort)
      + Self.policyWorks(effort)
      + Self.libraryWorks(effort) + Self.processWorks(effort, programs)
    curves = Self.growth(effort)
  }

  /// Keeps only the works and curves with these names.
  ///
  /// - Returns: unknown names.
  mutating func keep(only names: [String]) -> [String] {
    let unknown = names.filter { !self.names.contains($0) }
    works.removeAll { !names.contains($0.name) }
    curves.removeAll { !names.contains($0.name) }
    return unknown
  }

  var names: [String] { works.map(\.name) + curves.map(\.name) }

  var subjects: [Subject] {
    works.flatMap(\.subjects) + curves.flatMap { $0.points.flatMap(\.work.subjects) }
  }
}

extension Work.Measure {
  /// Asks and answers, by the driver.
  static func roundTrips(_ count: Int) -> Self {
    .trips(count, warmUp: Int(driver_warm_up)) { place, count in
      try Driver.roundTrips(count, through: place.server())
    }
  }

  /// Messages to so many receivers, by the driver.
  static func stream(of bytes: Int, to receivers: Int, worth: Double) -> Self {
    // As many as the driver puts into one write.
    .rate(step: min(Int(driver_stream_batch), max(1, (64 << 10) / bytes)), worth: worth) { place, count in
      try Driver.stream(count, of: bytes, to: receivers, through: place.server())
    }
  }

  /// Posts to one observer, one at a time.
  static func posts(_ count: Int, haveNewNames: Bool = false) -> Self {
    .trips(count, warmUp: Int(driver_warm_up)) { place, count in
      try Driver.posts(count, newNames: haveNewNames, through: place.server())
    }
  }
}
