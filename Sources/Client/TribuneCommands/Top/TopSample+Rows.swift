// SPDX-License-Identifier: Apache-2.0

import Tribune

extension TopSample {
  func groups(since earlier: TopSample?, isTree: Bool) -> [TopGroup] {
    let rates = rates(since: earlier)
    let (holds, actions) = (
      snapshot.holds.map(\.connection).counts, snapshot.actions.map(\.connection).counts
    )
    return switch view {
    case .delegates: DelegateRows(snapshot).groups
    case .queries: isTree ? WaitForest(snapshot.queries).groups : WaitForest(snapshot.queries).flatGroups
    case .connections:
      snapshot.connections.map {
        let registered = (holds[$0.id, default: 0], actions[$0.id, default: 0])
        return [TopRow($0, registered, rate: rates[$0.rateKey])]
      }
    case .names: snapshot.names.map { [TopRow($0, rate: rates[$0.rateKey])] }
    case .users: snapshot.users.map { [TopRow($0, rate: rates[$0.rateKey])] }
    }
  }

  private var counters: [[String]: Int] {
    let counters: [([String], Int)] =
      switch view {
      case .connections: snapshot.connections.map { ($0.rateKey, $0.posted) }
      case .names: snapshot.names.map { ($0.rateKey, $0.asked) }
      case .users: snapshot.users.map { ($0.rateKey, $0.posted) }
      case .delegates, .queries: []
      }
    return Dictionary(counters, uniquingKeysWith: max)
  }

  private func rates(since earlier: TopSample?) -> [[String]: Double] {
    guard let earlier else { return [:] }
    let seconds = earlier.snapshot.moment.duration(to: snapshot.moment) / .seconds(1)
    let before = earlier.counters
    return counters.reduce(into: [:]) { rates, counter in
      guard seconds > 0, let count = before[counter.key], counter.value >= count else { return }
      rates[counter.key] = Double(counter.value - count) / seconds
    }
  }
}

extension ConnectionInfo {
  fileprivate var rateKey: [String] { [id] }
}

extension NameStatistics {
  fileprivate var rateKey: [String] { [name ?? ""] }
}

extension UserStatistics {
  fileprivate var rateKey: [String] { [uid.map { "\($0)" } ?? "", unit] }
}

extension TopRow {
  fileprivate init(_ connection: ConnectionInfo, _ registered: (holds: Int, actions: Int), rate: Double?) {
    self.init(
      values: [
        .connection(connection.id), .id(UInt64(clamping: connection.pid)), .text(connection.process),
        TopValue(uid: connection.uid), .text(connection.unit), TopValue(rate: rate),
        .count(connection.posted), .bytes(connection.queuedBytes), .count(connection.lost),
        .count(connection.queries), .count(connection.observations), .count(connection.delegates),
        .count(registered.holds), .count(registered.actions), .text(connection.state),
        .duration(connection.age),
      ], isMarked: connection.isLossy)
  }

  fileprivate init(_ name: NameStatistics, rate: Double?) {
    self.init(
      values: [
        .text(name.name ?? "(others)"), TopValue(rate: rate), .count(name.asked), .count(name.vetoed),
        .count(name.cancelled), .count(name.outcomes.timedOut),
        .count(name.outcomes.failed + name.outcomes.gone),
      ] + name.durations.spans.map { TopValue($0) })
  }

  fileprivate init(_ user: UserStatistics, rate: Double?) {
    self.init(values: [
      TopValue(uid: user.uid), .text(user.uid == nil ? "(others)" : user.unit), .count(user.connections),
      TopValue(rate: rate), .count(user.posted), .bytes(user.postedBytes), .count(user.delivered),
      .count(user.lost), .count(user.asked), .count(user.denied), .count(user.refused),
    ])
  }
}
