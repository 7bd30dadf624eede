// SPDX-License-Identifier: Apache-2.0

/// The figure that a subject should reach in a work.
struct Target: Sendable {
  enum Figure: Sendable {
    case value
    case tail

    func of(_ sample: Sample) -> Double? {
      switch self {
      case .value: sample.value
      case .tail: sample.tail
      }
    }
  }

  /// The reference of which the figure is a multiple.
  enum Reference: Sendable {
    /// The subject's figure of the same round, so many times.
    case subject(Subject, times: Double = 1)
    /// The best alternative in the same round.
    case bestPeer
    /// No reference: the bound is in the work's unit.
    case none
  }

  enum Bound: Sendable {
    case atMost(Double)
    case atLeast(Double)

    func admits(_ value: Double) -> Bool {
      switch self {
      case .atMost(let most): value <= most
      case .atLeast(let least): value >= least
      }
    }

    var limit: Double {
      switch self {
      case .atMost(let limit), .atLeast(let limit): limit
      }
    }

    var sign: String {
      switch self {
      case .atMost: "≤"
      case .atLeast: "≥"
      }
    }
  }

  /// The work, as the table of targets names it.
  var title: String
  var subject: Subject
  var figure = Figure.value
  var reference: Reference
  var bound: Bound

  /// The measured multiple, or the figure in the work's unit.
  struct Reading {
    var spread: Spread
    var isMet: Bool
  }

  /// - Throws: `Absence` if a figure that it needs was not measured.
  func reading(of result: WorkResult) throws -> Reading {
    let own = try result.samples(of: subject)
    let values: [Double]
    switch reference {
    case .none:
      values = own.compactMap { figure.of($0) }
    case .subject(let other, let times):
      values = zip(own, try result.samples(of: other)).compactMap { own, other in
        figure.of(own).map { $0 / (other.value * times) }
      }
    case .bestPeer:
      let peers = result.work.subjects.filter { $0.role == .peer }.compactMap { result.found($0) }
      guard !peers.isEmpty else { throw Absence(reason: "no peer was measured") }
      values = own.indices.compactMap { round in
        let others = peers.compactMap { $0.indices.contains(round) ? $0[round].value : nil }
        guard let best = result.work.unit.isRate ? others.max() : others.min() else { return nil }
        return figure.of(own[round]).map { $0 / best }
      }
    }
    guard let spread = Spread(values) else { throw Absence(reason: "nothing was measured") }
    return Reading(spread: spread, isMet: bound.admits(spread.median))
  }

  /// `≤ 1.15 × C relay`.
  func text(in unit: Unit) -> String {
    switch reference {
    case .none: "\(bound.sign) \(unit.text(bound.limit))"
    case .bestPeer: "\(bound.sign) \(bound.limit.brief) × best peer"
    case .subject(let other, let times):
      "\(bound.sign) \(bound.limit.brief) × \(times == 1 ? "" : "\(Int(times)) × ")\(other.title)"
    }
  }
}
