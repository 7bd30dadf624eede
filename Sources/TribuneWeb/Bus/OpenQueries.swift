// SPDX-License-Identifier: Apache-2.0

package import Tribune
package import TribuneJSON

/// The queries that wait for delegates, as far as a monitor has seen their questions.
nonisolated package struct OpenQueries: Sendable {
  private struct Wait {
    /// Microseconds since 1970.
    var until: UInt64
    var status = ""
  }

  private struct Query {
    var name: String
    var object: String
    var asker: Who
    var since: UInt64
    /// By the id of the delegate.
    var waits: [UInt64: Wait] = [:]
  }

  package static let queriesMax = 1_024
  /// Whose answers should have come so long ago has ended, and the frame that said so was missed.
  private static let graceMicroseconds: UInt64 = 60_000_000

  private var queries: [UInt64: Query] = [:]

  package init() {}

  package mutating func take(_ item: TrafficItem) {
    switch item.content {
    case .question(let query, let delegate, let timeout, let asker, _, _):
      if queries[query] == nil {
        prune(at: item.time)
        guard queries.count < Self.queriesMax else { return }
        queries[query] = Query(name: item.name, object: item.object, asker: Who(asker), since: item.time)
      }
      queries[query]?.waits[delegate] = Wait(until: Self.moment(item.time, timeout))
    case .deferral(let query, let delegate, let time, let status):
      guard queries[query]?.waits[delegate] != nil else { return }
      queries[query]?.waits[delegate] = Wait(until: Self.moment(item.time, time), status: status)
    case .answer(let query, let delegate, _): queries[query]?.waits[delegate] = nil
    case .concluded(let conclusion, let delegate): queries[conclusion.query]?.waits[delegate] = nil
    case .verdict(let verdict): queries[verdict.query] = nil
    case .post, .ask, .query, .progress, .refusal, .loss, .other: return
    }
  }

  private static func moment(_ time: UInt64, _ span: Duration) -> UInt64 {
    time + UInt64(max(0, span / .microseconds(1)))
  }

  /// Forgets queries that wait for nobody any more, as those that were cancelled, if there are many.
  private mutating func prune(at now: UInt64) {
    guard queries.count >= Self.queriesMax else { return }
    queries = queries.filter { _, query in
      query.waits.values.contains { $0.until + Self.graceMicroseconds > now }
    }
  }

  /// Those that wait, the oldest first.
  package func json(at now: UInt64, _ delegates: [UInt64: DelegateInfo]) -> JSONValue {
    let waiting = queries.values.filter { query in
      query.waits.values.contains { $0.until + Self.graceMicroseconds > now }
    }.sorted { $0.since < $1.since }
    return .object([
      ("rows", .array(waiting.prefix(BusPicture.rowsMax).map { Self.json($0, delegates) })),
      ("omitted", .integer(max(0, waiting.count - BusPicture.rowsMax))),
    ])
  }

  private static func json(_ query: Query, _ delegates: [UInt64: DelegateInfo]) -> JSONValue {
    let waits = query.waits.sorted { $0.key < $1.key }.map { id, wait -> JSONValue in
      let delegate = delegates[id]
      return .object([
        ("label", .string(delegate?.label ?? "")),
        ("process", .string(delegate?.process ?? "delegate \(id)")),
        ("unit", .string(delegate?.unit ?? "")), ("status", .string(wait.status)),
      ])
    }
    return .object([
      ("name", .string(query.name)), ("object", .string(query.object)), ("asker", query.asker.json),
      ("since", .unsigned(query.since / 1_000_000)),
      ("until", .unsigned((query.waits.values.map(\.until).max() ?? query.since) / 1_000_000)),
      ("waits", .array(waits)),
    ])
  }
}
