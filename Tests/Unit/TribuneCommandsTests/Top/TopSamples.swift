// SPDX-License-Identifier: Apache-2.0

import TribuneWire

@testable import Tribune
@testable import TribuneCommands

extension QueryInfo {
  static func made(
    _ id: UInt64, by connection: String, _ process: String, asks name: String, age: Duration = .seconds(1),
    omitted: Int = 0, _ participants: Participant...
  ) -> QueryInfo {
    QueryInfo(
      id: id, connection: connection, pid: Int32(100 + id), uid: 0, process: process, units: Units(),
      name: name, object: "", mode: .parallel, isDryRun: false, age: age, remaining: .seconds(30) - age,
      participants: participants, omittedCount: omitted)
  }
}

extension QueryInfo.Participant {
  static func made(
    _ label: String, of connection: String, for elapsed: Duration = .milliseconds(10),
    _ state: State = .asked,
    uid: UInt32 = 0
  ) -> QueryInfo.Participant {
    var participant = QueryInfo.Participant(
      delegate: 1, connection: connection, label: label, pid: 7, uid: uid, process: "", units: Units(),
      state: state, reason: "", elapsed: elapsed, remaining: nil)
    if participant.isAwaited { participant.remaining = .seconds(5) - elapsed }
    return participant
  }
}

extension DelegateInfo {
  static func made(_ label: String, uid: UInt32 = 0) -> DelegateInfo {
    DelegateInfo(
      id: 1, connection: ":3", label: label, pid: 1, uid: uid, process: "", units: Units(), object: "",
      order: 0, failurePolicy: .veto, timeout: .seconds(5), patterns: [])
  }
}

extension ParticipantStatistics {
  static func made(
    _ label: String, uid: UInt32? = 0, timedOut: Int = 0, approved: Int = 0, times: [Duration] = []
  ) -> ParticipantStatistics {
    var outcomes = OutcomeCounts()
    (outcomes.timedOut, outcomes.approved) = (timedOut, approved)
    var durations = DurationHistogram()
    (durations.count, durations.longest) = (times.count, times.max() ?? .zero)
    durations.buckets = times.sorted().map { .init(lowerBound: $0, upperBound: $0, count: 1) }
    return ParticipantStatistics(
      role: .delegate, label: label, unit: "", uid: uid, outcomes: outcomes, durations: durations)
  }
}

extension TopSample {
  static let start = ContinuousClock.now

  static func made(
    _ view: TopView, at seconds: Double = 0, _ bus: BusEntry = BusEntry(address: "unix:/bus"),
    list: (inout BusSnapshot) -> Void = { _ in }
  ) -> TopSample {
    var snapshot = BusSnapshot(BusStatus(bus), at: start.advanced(by: .seconds(seconds)))
    list(&snapshot)
    return TopSample(view: view, snapshot: snapshot)
  }

  static func refused(_ view: TopView, _ reason: String) -> TopSample {
    var sample = made(view)
    sample.refusal = reason
    return sample
  }

  static func names(_ count: Int, at seconds: Double = 0, faster: Int = 0) -> TopSample {
    let names = (0..<count).map { index in
      NameStatistics(
        name: "a.\(Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(index))))",
        asked: 10 + index + faster * index,
        vetoed: 0, overridden: 0, cancelled: 0, outcomes: OutcomeCounts(),
        durations: DurationHistogram())
    }
    return made(.names, at: seconds) { $0.names = names }
  }

  static let users = made(.users) { snapshot in
    snapshot.users = (1...2).map {
      UserStatistics(
        uid: UInt32($0), unit: "\($0).service", connections: $0, posted: $0, postedBytes: $0, delivered: $0,
        lost: $0, asked: $0, denied: $0, refused: $0)
    }
  }

  static let connections = made(.connections) { snapshot in
    snapshot.connections = (1...2 as ClosedRange<UInt32>).map { number in
      let peer = PeerIdentity(
        pid: number, uid: number, gid: 0, process: "p\(number)",
        units: PeerUnits(system: "\(number).service", user: ""))
      return ConnectionInfo(
        ConnectionEntry(
          id: ConnectionID(rawValue: UInt64(number)), peer: peer, age: UInt64(number), observations: number,
          delegates: number, queries: number, queued: UInt64(number), lost: UInt64(number),
          posted: UInt64(number), state: number == 2 ? .lossy : .none))
    }
    snapshot.holds = [
      HoldInfo(
        id: 1, connection: ":2", label: "", pid: 1, uid: 0, process: "", units: Units(), pattern: "",
        object: "", why: "", age: .zero, expiresIn: nil)
    ]
  }

  static func queries(_ queries: QueryInfo...) -> TopSample { made(.queries) { $0.queries = queries } }

  static func delegates(_ statistics: [ParticipantStatistics], _ queries: QueryInfo...) -> TopSample {
    let attached = statistics.compactMap { one in one.uid.map { DelegateInfo.made(one.label, uid: $0) } }
    return made(.delegates) {
      ($0.queries, $0.delegates, $0.participants) = (queries, attached, statistics)
    }
  }
}

extension TopModel {
  static func showing(_ sample: TopSample, rows: Int = 24, columns: Int = 80) -> TopModel {
    var model = TopModel(view: sample.view, size: TopSize(rows: rows, columns: columns))
    model.take(sample)
    return model
  }

  mutating func type(_ text: String) {
    for character in text { _ = press(.character(character)) }
  }

  func column(_ title: String) -> [String] {
    let index = view.columns.firstIndex { $0.title == title } ?? 0
    return rows.map {
      $0.branch.isEmpty || index < $0.values.count - 1
        ? $0.values[index].shown : $0.branch + $0.values[index].shown
    }
  }
}
