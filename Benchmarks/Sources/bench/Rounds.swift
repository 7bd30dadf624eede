// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// Runs everything that is compared in turns, so that what else the machine does meets all alike.
struct Rounds {
  /// One of each kind that a series is measured on.
  let servers: [Server]
  let effort: Effort

  func run(footprint: Footprint) async throws -> Report {
    var report = Report(effort: effort, footprint: footprint)
    try await run(Series.allCases.filter { !$0.isStream }, times: effort.roundTripRounds, into: &report)
    try await run(Series.allCases.filter(\.isStream), times: effort.streamRounds, into: &report)
    return report
  }

  /// Every other round runs backwards: who comes first has no advantage from it.
  private func run(_ all: [Series], times: Int, into report: inout Report) async throws {
    for round in 0..<times {
      for series in round.isMultiple(of: 2) ? all : all.reversed() {
        report.add(try await measure(series), to: series)
      }
    }
  }

  private func measure(_ series: Series) async throws -> Sample {
    guard let server = servers.first(where: { $0.kind == series.server }) else {
      preconditionFailure("nothing to measure \(series) on has been started")
    }
    let before = try server.processorTime()
    switch series.kind {
    case .roundTrips(let clients):
      let durations = try await roundTrips(through: server, clients)
      return sample(
        durations, warmUp: Int(driver_warm_up), processorTime: try server.processorTime() - before)
    case .asks(let chain):
      let durations = try Driver.asks(effort.chainAsks, through: chain, of: server)
      return sample(
        durations, warmUp: Int(driver_chain_warm_up), processorTime: try server.processorTime() - before)
    case .posts(let newNames):
      let durations = try Driver.posts(effort.posts, newNames: newNames, through: server)
      return sample(
        durations, warmUp: Int(driver_warm_up), processorTime: try server.processorTime() - before)
    case .stream(let receivers):
      let duration = try Driver.stream(effort.messages, to: receivers, through: server)
      let used = try server.processorTime() - before
      let delivered = Double(effort.messages * receivers)
      return Sample(value: delivered / microseconds(duration), server: Double(used) / Double(duration))
    }
  }

  private func roundTrips(through server: Server, _ clients: Series.Clients) async throws -> [UInt64] {
    switch (clients, server.kind) {
    case (.driver, _): try Driver.roundTrips(effort.roundTrips, through: server)
    case (.tasks, .relay): try await RelayTasks.roundTrips(effort.roundTrips, through: server)
    case (.tasks, _): try await LibraryTasks.roundTrips(effort.roundTrips, through: server)
    }
  }

  private func sample(_ durations: [UInt64], warmUp: Int, processorTime: UInt64) -> Sample {
    let sorted = durations.sorted()
    return Sample(
      value: microseconds(sorted[sorted.count / 2]), tail: microseconds(sorted[sorted.count * 99 / 100]),
      server: microseconds(processorTime) / Double(durations.count + warmUp))
  }

  private func microseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1_000 }
}
