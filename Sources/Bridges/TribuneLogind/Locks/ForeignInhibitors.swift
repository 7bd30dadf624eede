// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService
import TribuneSystem
import TribuneWire

/// Mirrors other programs' logind locks as holds on the bus.
final class ForeignInhibitors {
  private struct Key: Hashable {
    var question: HostQuestion
    var inhibitor: Inhibitor
    var copy: Int
  }

  /// For each question, at most this many locks become holds. One hold is enough for a veto.
  private static let inhibitorsMax = 100

  private var holds: [Key: Tribune.Hold] = [:]
  private var connectionCount = 0

  init() {}

  var count: Int { Set(holds.keys.map(\.inhibitor)).count }

  /// Tries every change, then throws the last error.
  func update(_ inhibitors: [Inhibitor], own: Set<UInt32>, on bus: Connection) async throws(TribuneError) {
    let wanted = wanted(inhibitors.filter { !($0.uid == 0 && own.contains($0.pid)) })
    let connections = connectionCount
    var failure: TribuneError?
    for (key, hold) in holds where !wanted.contains(key) {
      holds[key] = nil
      do throws(TribuneError) { try await hold.release() } catch { failure = error }
    }
    for key in wanted where holds[key] == nil {
      do throws(TribuneError) {
        let hold = try await Self.hold(key, on: bus)
        // If the connection was lost in the meantime, the new hold has ended, too.
        if connections == connectionCount { holds[key] = hold }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  private func wanted(_ inhibitors: [Inhibitor]) -> Set<Key> {
    var wanted: Set<Key> = []
    for question in HostQuestion.allCases {
      let others = inhibitors.filter { $0.questions.contains(question) }
        // The order of logind's list may change. Sorting makes the choice of `inhibitorsMax` locks stable.
        .sorted { ($0.pid, $0.what, $0.who, $0.why) < ($1.pid, $1.what, $1.who, $1.why) }
      for inhibitor in others.prefix(Self.inhibitorsMax) {
        var key = Key(question: question, inhibitor: inhibitor, copy: 0)
        while !wanted.insert(key).inserted { key.copy += 1 }
      }
    }
    return wanted
  }

  func forget() {
    holds = [:]
    connectionCount += 1
  }

  private static func hold(_ key: Key, on bus: Connection) async throws(TribuneError) -> Tribune.Hold {
    let inhibitor = key.inhibitor
    return try await bus.hold(
      key.question.name, why: inhibitor.reason,
      label: "logind:\(inhibitor.who)".limited(to: WireLimits.labelLength), isLast: false,
      for: identity(inhibitor))
  }

  private static func identity(_ inhibitor: Inhibitor) -> PeerIdentity {
    let pid = Int32(clamping: inhibitor.pid)
    return PeerIdentity(
      pid: inhibitor.pid, uid: inhibitor.uid, gid: PeerIdentity.unknownUser,
      process: ProcessFacts.name(of: pid), units: PeerUnits(of: pid))
  }
}
