// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// Runs works in rounds, and within a round lets the subjects take turns.
struct Runner: Sendable {
  let effort: Effort
  /// The servers that run, and the reasons why others do not.
  let servers: [Server.Kind: Server]
  let absences: [Server.Kind: Absence]
  /// Gets a line with the results of each work in each round.
  let progress: @Sendable (String) -> Void
  /// How many steps fill a turn, by work and subject.
  private var counts: [String: Int] = [:]

  init(
    effort: Effort, servers: [Server.Kind: Server], absences: [Server.Kind: Absence],
    progress: @escaping @Sendable (String) -> Void
  ) {
    self.effort = effort
    self.servers = servers
    self.absences = absences
    self.progress = progress
  }

  /// If something cannot be measured, the results have an absence, and the rest goes on.
  mutating func run(_ works: [Work]) async -> [WorkResult] {
    var results = works.map(start)
    for round in 0..<effort.rounds {
      for place in results.indices { await run(round, of: &results[place]) }
    }
    return results
  }

  mutating func run(_ curves: [Curve]) async -> [CurveResult] {
    let works = curves.flatMap { $0.points.map(\.work) }
    var rest = await run(works)[...]
    return curves.map { curve in
      CurveResult(
        curve: curve,
        points: curve.points.map { CurveResult.Point(x: $0.x, result: rest.removeFirst()) })
    }
  }

  private func start(_ work: Work) -> WorkResult {
    var result = WorkResult(work)
    for subject in work.subjects {
      if let host = subject.host, let absence = absences[host] { result.give(up: subject, for: absence) }
    }
    return result
  }

  private mutating func run(_ round: Int, of result: inout WorkResult) async {
    let work = result.work
    let began = driver_nanoseconds()
    var taken: [Subject: [Turn]] = [:]
    for turn in 0..<work.turns {
      // No subject always comes first.
      let order = (round + turn).isMultiple(of: 2) ? work.subjects : work.subjects.reversed()
      for subject in order where result.absences[subject] == nil {
        do {
          taken[subject, default: []].append(try await takeTurn(of: subject, in: work))
        } catch let absence as Absence {
          result.give(up: subject, for: absence)
        } catch {
          result.give(up: subject, for: Absence(reason: "\(error)", isLoss: true))
        }
      }
    }
    var found: [String] = []
    for subject in work.subjects {
      if let absence = result.absences[subject] {
        found.append("\(subject.title) not measured: \(absence)")
      } else if let turns = taken[subject] {
        let sample = Sample(turns)
        result.add(sample, of: subject)
        found.append("\(subject.title) \(work.unit.text(sample.value))")
      }
    }
    let seconds = (Double(driver_nanoseconds() - began) / 1e9).fixed(1)
    progress(
      "round \(round + 1)/\(effort.rounds), \(work.name), \(seconds) s: \(found.joined(separator: ", "))")
  }

  private mutating func takeTurn(of subject: Subject, in work: Work) async throws -> Turn {
    let place = Work.Place(subject: subject, host: subject.host.flatMap { servers[$0] })
    switch work.measure {
    case .trips(let count, let warmUp, let measure):
      let before = try place.host?.processorTime()
      let durations = try await measure(place, count)
      let used = try place.host.map { try $0.processorTime() - (before ?? 0) }
      // The trips of the warm-up took as much each.
      let timed = used.map { $0 * UInt64(count) / UInt64(count + warmUp) }
      return .trips(durations, server: timed)
    case .rate(let step, let worth, let measure):
      let key = "\(work.name) \(subject.name)"
      let count: Int
      if let known = counts[key] {
        count = known
      } else {
        count = try await calibrate(step, place, measure)
        counts[key] = count
      }
      let before = try place.host?.processorTime()
      let elapsed = try await measure(place, count)
      let used = try place.host.map { try $0.processorTime() - (before ?? 0) }
      return .amount(Double(count) * worth, elapsed: elapsed, server: used)
    case .quantity(let measure):
      return .quantity(try await measure(place))
    }
  }

  /// Finds how many fill a turn by trying more and more.
  private func calibrate(
    _ step: Int, _ place: Work.Place, _ measure: (Work.Place, Int) async throws -> UInt64
  ) async throws -> Int {
    guard effort.rateTurnMilliseconds > 0 else { return step * Effort.quickSteps }
    let wanted = Double(effort.rateTurnMilliseconds) * 1e6
    var count = step
    while true {
      let elapsed = Double(max(1, try await measure(place, count)))
      if elapsed >= wanted / 4 {
        return max(1, Int(Double(count / step) * wanted / elapsed)) * step
      }
      count *= elapsed < wanted / 100 ? 16 : 4
    }
  }
}
