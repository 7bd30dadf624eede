// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Queries as trees. Below a query are the delegates that it waits for. Below each delegate are the queries
/// that its connection asks.
struct WaitForest {
  /// A query at a greater depth begins a new tree.
  private static let depthMax = 32

  private let queries: [QueryInfo]
  private let asked: [String: [Int]]
  private let awaitedConnections: Set<String>

  init(_ queries: [QueryInfo]) {
    self.queries = queries
    asked = Dictionary(grouping: queries.indices) { queries[$0].connection }
    awaitedConnections = Set(queries.flatMap { $0.participants.filter(\.isAwaited).compactMap(\.connection) })
  }

  /// If no query waits for a query's asker, the query begins a tree. Further trees begin at queries that are
  /// in none of these trees: the first query of each cycle, and queries beyond `depthMax`.
  var groups: [TopGroup] {
    var shown: Set<Int> = []
    var groups: [TopGroup] = []
    func grow(_ isRoot: (QueryInfo) -> Bool) {
      for place in queries.indices where !shown.contains(place) && isRoot(queries[place]) {
        var rows: [TopRow] = []
        var path: [Int] = []
        append(place, to: &rows, shown: &shown, path: &path)
        groups.append(rows)
      }
    }
    grow { !awaitedConnections.contains($0.connection) }
    grow { _ in true }
    return groups
  }

  var flatGroups: [TopGroup] {
    queries.flatMap { query -> [TopGroup] in
      let awaited = query.participants.filter(\.isAwaited)
      guard !awaited.isEmpty else { return [[Self.row(of: query, query.asking)]] }
      return awaited.map { [Self.row(of: $0, of: query, query.asking + ", and " + $0.waitedFor)] }
    }
  }

  private func append(_ place: Int, to rows: inout [TopRow], shown: inout Set<Int>, path: inout [Int]) {
    let query = queries[place]
    shown.insert(place)
    rows.append(Self.row(of: query, query.asking, depth: 2 * path.count))
    path.append(place)
    for participant in query.participants where participant.isAwaited {
      rows.append(Self.row(of: participant, of: query, participant.waitedFor, depth: 2 * path.count - 1))
      // Below the delegate come the queries that its connection asks. If this connection also asks `query`,
      // these queries are left out, because the delegate's answer then need not depend on them.
      let own = participant.connection.flatMap { $0 == query.connection ? nil : asked[$0] } ?? []
      if let above = own.first(where: path.contains) {
        var row = Self.row(
          of: queries[above], queries[above].asking + ", as above: a circle", depth: 2 * path.count)
        row.isMarked = TopRow.isLong(participant.elapsed)
        rows.append(row)
      }
      guard path.count < Self.depthMax else { continue }
      for next in own where !shown.contains(next) {
        append(next, to: &rows, shown: &shown, path: &path)
      }
    }
    if query.omittedCount > 0 {
      rows.append(
        Self.row(of: query, "and \(query.omittedCount) more, not listed", depth: 2 * path.count - 1))
    }
    path.removeLast()
  }

  private static func row(of query: QueryInfo, _ text: String, depth: Int = 0) -> TopRow {
    TopRow(
      values: [
        .duration(query.age), .duration(query.remaining), .id(UInt64(clamping: query.pid)),
        TopValue(uid: query.uid), .text(query.units.primary), .id(query.id), .text(text),
      ], depth: depth)
  }

  private static func row(
    of participant: QueryInfo.Participant, of query: QueryInfo, _ text: String, depth: Int = 0
  ) -> TopRow {
    TopRow(
      values: [
        .duration(participant.elapsed), TopValue(participant.remaining),
        .id(UInt64(clamping: participant.pid)),
        TopValue(uid: participant.uid), .text(participant.units.primary), .id(query.id), .text(text),
      ], isMarked: TopRow.isLong(participant.elapsed), depth: depth)
  }
}

extension QueryInfo {
  fileprivate var asking: String {
    let asker = process.isEmpty ? "connection \(connection)" : process
    return "\(asker) asks \(name)" + (object.isEmpty ? "" : " \(object)") + (isDryRun ? " (dry run)" : "")
  }
}

extension QueryInfo.Participant {
  fileprivate var waitedFor: String {
    let name =
      switch (label.isEmpty, process.isEmpty) {
      case (true, true): "delegate \(delegate)"
      case (true, false): process
      case (false, true): label
      case (false, false): label == process ? label : "\(label) (\(process))"
      }
    return "waits for \(name)" + (state == .queued ? ", which has others to answer before" : "")
  }
}
