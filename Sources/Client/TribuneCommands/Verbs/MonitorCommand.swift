// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

import struct TribuneWire.ConnectionID

func monitor(
  _ patterns: [String], in context: Context, over connect: () async throws(TribuneError) -> Connection
) async throws(CommandError) -> Traffic {
  try await orEnd { () async throws(TribuneError) -> Traffic in
    let connection = try await connect()
    return try await bounded(by: context.timeout) { () async throws(TribuneError) -> Traffic in
      try await connection.monitor(patterns)
    }
  }
}

struct ExcludedConnections: Sendable {
  private let ids: Set<String>

  init(_ invocation: Invocation) throws(CommandError) {
    var ids: Set<String> = []
    for word in invocation.words(.exclude) {
      guard let id = ConnectionID(word) else {
        throw .usage("--exclude takes a connection, such as :7, not \"\(word.terminalSafe)\"")
      }
      ids.insert(id.description)
    }
    self.ids = ids
  }

  /// True if one of these connections sent the frame, or is its only receiver.
  func contains(_ delivery: TrafficDelivery) -> Bool {
    guard case .item(let item) = delivery else { return false }
    return [item.from, item.to].contains { $0.map(ids.contains) == true }
  }
}

struct MonitorCommand: Command {
  var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let excluded: ExcludedConnections

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    excluded = try ExcludedConnections(invocation)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let traffic = try await monitor(patterns, in: context) { () async throws(TribuneError) in
      try await context.connectToStay(missing: "message")
    }
    context.reportReady("monitoring \(patterns.isEmpty ? "everything" : patterns.joined(separator: " "))")
    return try await stay(
      reading: traffic, until: { await context.signals.interruption() }, cancel: { await traffic.cancel() },
      show: { delivery throws(CommandError) in
        if !excluded.contains(delivery) { try show(delivery, in: context) }
        return true
      })
  }

  private func show(_ delivery: TrafficDelivery, in context: Context) throws(CommandError) {
    switch delivery {
    case .item(let item): try context.write(item.line(in: context) + "\n", or: item.json)
    case .lost(let count): try context.print(.lost(count), of: "message")
    case .interrupted: try context.print(.interrupted, of: "message")
    }
  }
}
