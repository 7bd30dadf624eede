// SPDX-License-Identifier: Apache-2.0

/// Something that several subjects do in turns, so that what else the machine does meets all alike.
struct Work: Sendable {
  /// Who is measured, and on what.
  struct Place: Sendable {
    var subject: Subject
    /// Missing if the subject has none.
    var host: Server?

    func server() throws -> Server {
      guard let host else { throw Absence(reason: "\(subject.title) has no server here") }
      return host
    }
  }

  /// One turn of a subject.
  enum Measure: Sendable {
    /// So many trips, each with its nanoseconds. Others may come before them that are not timed, `warmUp` of them.
    case trips(_ count: Int, warmUp: Int = 0, @Sendable (Place, Int) async throws -> [UInt64])
    /// As many as fill a turn, in multiples of `step`, each of which is worth so much; how long it took, in
    /// nanoseconds.
    case rate(step: Int, worth: Double, @Sendable (Place, Int) async throws -> UInt64)
    case quantity(@Sendable (Place) async throws -> Double)
  }

  /// In JSON, and for `--only`.
  var name: String
  /// Above its table.
  var title: String
  /// What is done, for whoever reads the table.
  var note: String
  var unit: Unit
  /// In the tables' order.
  var subjects: [Subject]
  /// What the others are compared with in the work's table.
  var baseline: Subject
  /// How often each subject has its turn in a round. Every other turn goes backwards through the subjects.
  var turns: Int
  var targets: [Target] = []
  var measure: Measure
}

/// Works that differ in one number, which is the x axis of a chart.
struct Curve: Sendable {
  struct Point: Sendable {
    var x: Int
    var work: Work
  }

  /// In JSON, for `--only`, and in the chart's file name.
  var name: String
  var title: String
  var note: String
  var xTitle: String
  var yTitle: String
  /// Whether x counts bytes.
  var isOverBytes = false
  var points: [Point]
}

/// Why something was not measured.
struct Absence: Error, Codable, CustomStringConvertible, Sendable {
  var reason: String
  /// Whether something that was sent did not arrive as it should. Else it could not be done here.
  var isLoss = false

  var description: String { reason }
}
