// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// How often something was asked, with what verdicts, who vetoed it, and how long its askers waited.
struct VerdictCounts {
  /// The most that are counted one by one. Who is first seen after that is counted with others.
  static let vetoersMax = 64

  private(set) var asked = 0
  private(set) var allowed = 0
  private(set) var vetoed = 0
  /// Of those that were allowed.
  private var overridden = 0
  private var vetoers: [LoggedVetoer: Int] = [:]
  /// Vetoes by others than the vetoers.
  private(set) var otherVetoes = 0
  private var waits = Durations()

  /// A vetoer counts once a verdict, however many of its delegates and holds vetoed.
  mutating func add(_ verdict: LoggedVerdict) {
    asked += 1
    if verdict.isAllowed { allowed += 1 }
    if verdict.isVetoed { vetoed += 1 }
    if verdict.isOverridden { overridden += 1 }
    if let elapsed = verdict.elapsed { waits.note(microseconds: elapsed) }
    for vetoer in Set(verdict.vetoers) {
      if vetoers[vetoer] == nil, vetoers.count >= Self.vetoersMax {
        otherVetoes = otherVetoes.saturatingAdding(1)
      } else {
        vetoers[vetoer, default: 0] += 1
      }
    }
    otherVetoes = otherVetoes.saturatingAdding(verdict.unlistedVetoCount)
  }

  /// The busiest first.
  var busiest: [(vetoer: LoggedVetoer, count: Int)] {
    vetoers.map { (vetoer: $0.key, count: $0.value) }
      .sorted { ($1.count, $0.vetoer.text) < ($0.count, $1.vetoer.text) }
  }

  /// How long askers waited.
  var spans: [Duration?] { DurationHistogram(waits).spans }

  var members: [(name: String, value: JSONValue)] {
    [
      ("asked", .integer(asked)), ("allowed", .integer(allowed)), ("vetoed", .integer(vetoed)),
      ("overridden", .integer(overridden)),
      ("vetoedBy", .array(busiest.map { $0.vetoer.json($0.count) })), ("otherVetoes", .integer(otherVetoes)),
    ] + DurationHistogram(waits).members
  }
}
