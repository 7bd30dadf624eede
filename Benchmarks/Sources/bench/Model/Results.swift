// SPDX-License-Identifier: Apache-2.0

/// The results of a work in all rounds.
struct WorkResult: Sendable {
  let work: Work
  /// One for each round.
  private var samples: [Subject: [Sample]] = [:]
  private(set) var absences: [Subject: Absence] = [:]

  init(_ work: Work) { self.work = work }

  mutating func add(_ sample: Sample, of subject: Subject) { samples[subject, default: []].append(sample) }

  /// Drops the subject's samples of other rounds, too.
  mutating func give(up subject: Subject, for absence: Absence) {
    absences[subject] = absence
    samples[subject] = nil
  }

  /// Nil if the subject could not be measured.
  func found(_ subject: Subject) -> [Sample]? { samples[subject] }

  func samples(of subject: Subject) throws -> [Sample] {
    if let found = samples[subject] { return found }
    throw Absence(
      reason: "\(subject.title) was not measured: \(absences[subject]?.reason ?? "it takes no part")")
  }

  func spread(of subject: Subject) -> Spread? { found(subject).flatMap { Spread($0.map(\.value)) } }

  /// The multiples of the baseline's figures, each of the same round.
  func multiples(of subject: Subject) -> Spread? {
    guard let own = found(subject), let base = found(work.baseline) else { return nil }
    // A baseline of 0 has no multiples.
    return Spread(zip(own, base).map { $0.value / $1.value }.filter(\.isFinite))
  }
}

struct CurveResult: Sendable {
  struct Point: Sendable {
    var x: Int
    var result: WorkResult
  }

  let curve: Curve
  var points: [Point]

  /// In order of their first points.
  var subjects: [Subject] {
    var seen: [Subject] = []
    for point in points {
      for subject in point.result.work.subjects where !seen.contains(subject) { seen.append(subject) }
    }
    return seen
  }
}

struct Results: Sendable {
  var effort: Effort
  var machine: Machine
  var works: [WorkResult] = []
  var curves: [CurveResult] = []

  private var everything: [WorkResult] { works + curves.flatMap { $0.points.map(\.result) } }

  /// What was not measured, each with its reason.
  var absences: [(work: Work, subject: Subject, absence: Absence)] {
    everything.flatMap { result in
      result.work.subjects.compactMap { subject in
        result.absences[subject].map { (result.work, subject, $0) }
      }
    }
  }

  /// A line for each absence, and one line for those of a subject that have the same reason.
  var absenceLines: [String] { Self.lines(absences) }

  /// What must not happen: something is lost or changed, or Tribune or the relay is missing. In a quick run, only
  /// dbus-broker may be missing, because not every machine can run it.
  var failures: [String] {
    Self.lines(
      absences.filter { _, subject, absence in
        absence.isLoss || subject.role != .peer || (!effort.isTimed && subject != .dbusBroker)
      })
  }

  private static func lines(_ all: [(work: Work, subject: Subject, absence: Absence)]) -> [String] {
    var lines: [String] = []
    for (work, subject, absence) in all {
      let isShared = all.count { $0.subject == subject && $0.absence.reason == absence.reason } > 1
      let line = isShared ? "\(subject.title): \(absence)" : "\(subject.title), \(work.name): \(absence)"
      if !lines.contains(line) { lines.append(line) }
    }
    return lines
  }
}
