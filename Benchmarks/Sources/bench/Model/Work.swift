// SPDX-License-Identifier: Apache-2.0

/// A task that several subjects do in turns, so that other load on the machine meets all alike.
struct Work: Sendable {
  /// The subject that is measured, and its server.
  struct Place: Sendable {
    var subject: Subject
    /// Nil if the subject has none.
    var host: Server?

    func server() throws -> Server {
      guard let host else { throw Absence(reason: "\(subject.title) has no server here") }
      return host
    }
  }

  /// One turn of a subject.
  enum Measure: Sendable {
    /// The nanoseconds of each of so many trips. `warmUp` others that are not timed come before them.
    case trips(_ count: Int, warmUp: Int = 0, @Sendable (Place, Int) async throws -> [UInt64])
    /// The nanoseconds of as many steps as fill a turn. The count is a multiple of `step`; each counts as `worth`.
    case rate(step: Int, worth: Double, @Sendable (Place, Int) async throws -> UInt64)
    case quantity(@Sendable (Place) async throws -> Double)
  }

  /// In JSON, and for `--only`.
  var name: String
  /// Above its table.
  var title: String
  /// Explains the work to readers of the table.
  var note: String
  var unit: Unit
  /// In the tables' order.
  var subjects: [Subject]
  /// The subject with which the table compares the others.
  var baseline: Subject
  /// Turns of each subject in a round. Every other turn goes backwards through the subjects.
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
  /// Whether something that was sent did not arrive as it should. Otherwise, it could not be done here.
  var isLoss = false

  var description: String { reason }
}
