// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// The delegates and awaited observers of a bus. Each combination of role, user, unit and label has one row,
/// because the bus counts outcomes for each combination.
struct DelegateRows {
  private struct Key: Hashable {
    var role: ParticipantStatistics.Role
    var label: String
    var unit: String
    var uid: UInt32?
  }

  private struct Entry {
    var open = 0
    var oldest: Duration?
    var outcomes = OutcomeCounts()
    var durations = DurationHistogram()
    /// Nil for observers, and for the row of all users that the bus counts together.
    var isAttached: Bool?

    /// True if the delegate has left, and no query waits for it any more.
    var isPast: Bool { isAttached == false && open == 0 }
  }

  private var entries: [Key: Entry] = [:]

  init(_ snapshot: BusSnapshot) {
    for delegate in snapshot.delegates {
      let key = Key(role: .delegate, label: delegate.label, unit: delegate.unit, uid: delegate.uid)
      entries[key] = Entry(isAttached: true)
    }
    for counted in snapshot.participants {
      let key = Key(role: counted.role, label: counted.label, unit: counted.unit, uid: counted.uid)
      var entry = entries[key] ?? Entry(isAttached: key.role == .delegate && key.uid != nil ? false : nil)
      (entry.outcomes, entry.durations) = (counted.outcomes, counted.durations)
      entries[key] = entry
    }
    for participant in snapshot.queries.flatMap(\.participants) where participant.isAwaited {
      let key = Key(
        role: .delegate, label: participant.label, unit: participant.units.primary, uid: participant.uid)
      var entry = entries[key, default: Entry()]
      entry.open += 1
      entry.oldest = max(entry.oldest ?? .zero, participant.elapsed)
      entries[key] = entry
    }
  }

  private var sorted: [(key: Key, value: Entry)] {
    func rank(_ key: Key, _ entry: Entry) -> (Int, Duration, String, String, UInt32, String) {
      (
        entry.isPast ? 1 : 0, .zero - (entry.oldest ?? .zero), key.label, key.unit, key.uid ?? .max,
        key.role.rawValue
      )
    }
    return entries.sorted { rank($0.key, $0.value) < rank($1.key, $1.value) }
  }

  var groups: [TopGroup] {
    sorted.map { key, entry in
      let outcomes = entry.outcomes
      return [
        TopRow(
          values: [
            .text(key.uid == nil ? "(others)" : key.label), .text(key.unit), TopValue(uid: key.uid),
            .count(entry.open), TopValue(entry.oldest),
            .count(outcomes.approved + outcomes.vetoed + outcomes.abstained + outcomes.answered),
            .count(outcomes.timedOut), .count(outcomes.failed + outcomes.gone),
          ] + entry.durations.spans.map { TopValue($0) } + [.text(key.role.rawValue)],
          isMarked: TopRow.isLong(entry.oldest), isPast: entry.isPast)
      ]
    }
  }

  var json: [JSONValue] {
    sorted.map { key, entry in
      .object(
        [
          ("role", .string(key.role.rawValue)), ("label", .string(key.label)), ("unit", .string(key.unit)),
          ("uid", .uid(key.uid)), ("attached", entry.isAttached.map { .bool($0) } ?? .null),
          ("open", .integer(entry.open)),
          ("oldest", .seconds(ifKnown: entry.oldest)), ("outcomes", entry.outcomes.json),
        ] + entry.durations.members)
    }
  }
}
