// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// Runs everything that is compared in turns, so that what else the machine does meets all alike.
struct Rounds {
  let relay: Server
  let tribuned: Server
  let effort: Effort

  func run() throws -> Report {
    var report = Report(effort: effort)
    try run(Series.allCases.filter { $0.kind == .roundTrips }, times: effort.roundTripRounds, into: &report)
    try run(Series.allCases.filter { $0.kind != .roundTrips }, times: effort.streamRounds, into: &report)
    return report
  }

  /// Every other round runs backwards: who comes first has no advantage from it.
  private func run(_ all: [Series], times: Int, into report: inout Report) throws {
    for round in 0..<times {
      for series in round.isMultiple(of: 2) ? all : all.reversed() {
        report.add(try measure(series), to: series)
      }
    }
  }

  private func measure(_ series: Series) throws -> Sample {
    let server = series.isRelay ? relay : tribuned
    let before = try server.processorTime()
    switch series.kind {
    case .roundTrips:
      let durations = try Driver.roundTrips(effort.roundTrips, through: server).sorted()
      let used = try server.processorTime() - before
      return Sample(
        value: microseconds(durations[durations.count / 2]),
        tail: microseconds(durations[durations.count * 99 / 100]),
        server: microseconds(used) / Double(effort.roundTrips + Int(driver_warm_up)))
    case .stream(let receivers):
      let duration = try Driver.stream(effort.messages, to: receivers, through: server)
      let used = try server.processorTime() - before
      let delivered = Double(effort.messages * receivers)
      return Sample(value: delivered / microseconds(duration), server: Double(used) / Double(duration))
    }
  }

  private func microseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1_000 }
}
