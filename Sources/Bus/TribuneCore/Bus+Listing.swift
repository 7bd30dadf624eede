// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// The lists that clients request. A list has only the entries that the policy lets the requester see.
extension Bus {
  /// The delegates that a query of this name and object would ask. `entries` has the matching holds, actions
  /// under way, and missing required delegates. If the object has a protocol, `entries` also has the object.
  package mutating func explain(
    _ frame: FrameView, for slot: ConnectionSlot?, at now: Instant
  ) throws(WireError) -> (entries: [Entry], delegates: [DelegateRegistration]) {
    try frame.name.requireName()
    try frame.object.requireObject()
    try requireForm(of: String(repairing: frame.object), for: String(repairing: frame.name))
    try requireAnswerable(frame.name, of: frame.object)
    let key = frame.bytes.extracting(frame.header.nameStart..<frame.header.payloadStart)
    let nameLength = frame.header.nameLength
    let (chain, delegates) = try chains.responding(to: key, nameLength: nameLength)
    if let slot { try requirePermission(.list, on: key, nameLength: nameLength, chain: chain, from: slot) }
    var entries: [Entry] = []
    if let entry = objectEntry(of: frame.object) { entries.append(.object(entry)) }
    entries += holds.against(key, nameLength: nameLength).map { .hold($0.entry(at: now)) }
    let object = frame.object.byteCount == 0 ? nil : ExactText(String(repairing: frame.object))
    entries += actions.met(by: Pattern(accepted: String(repairing: frame.name)), object)
      .map { .query($0.entry(at: now)) }
    var missing = policy.missing(for: frame.name, among: delegates).map(\.text)
    if delegates.isEmpty, policy.vetoesByDefault(frame.name) { missing.append(MissingEntry.anyDelegate) }
    entries += missing.map { .missing(MissingEntry(name: $0)) }
    return (entries, delegates)
  }

  /// The holds of a connection, or of all connections if `connection` is 0, oldest first.
  package func holdEntries(
    of connection: UInt64, for slot: ConnectionSlot?, at now: Instant
  ) -> [HoldEntry] {
    connections.all(of: connection)
      .flatMap { $0.holds.values }
      .filter { mayList($0.pattern, object: $0.object, of: $0.connection, for: slot) }
      .sorted { $0.identity.id < $1.identity.id }
      .map { $0.entry(at: now) }
  }

  package func delegateEntries(of connection: UInt64, for slot: ConnectionSlot?) -> [DelegateEntry] {
    connections.all(of: connection)
      .flatMap { $0.delegates.values }
      .sorted { $0.identity.id < $1.identity.id }
      .compactMap { listableEntry(of: $0, for: slot) }
  }

  package func observationEntries(of connection: UInt64, for slot: ConnectionSlot?) -> [ObservationEntry] {
    connections.all(of: connection)
      .sorted { $0.id < $1.id }
      .flatMap { connection in
        connection.observations.entries
          .filter { mayList($1.pattern, object: $1.object, of: connection.id, for: slot) }
          .sorted { $0.key < $1.key }
          .map { _, observation in
            ObservationEntry(
              connection: connection.id, pattern: observation.pattern.text,
              object: observation.object ?? "", suspension: observation.suspension,
              isAwaited: observation.isAwaited)
          }
      }
  }

  package func counts(at slot: ConnectionSlot) -> (observations: Int, delegates: Int, queries: Int) {
    let connection = connections[slot]
    return (connection.observations.count, connection.delegates.count, connection.queries.count)
  }

  package func coalescedCount(at slot: ConnectionSlot) -> UInt64 {
    connections[slot].buffered?.coalescedCount ?? 0
  }

  package func bufferedByteCount(at slot: ConnectionSlot) -> Int? { connections[slot].buffered?.byteCount }

  /// The retained notifications of a connection, or of all connections if `connection` is 0. Searches only
  /// names that the requester may list. So a short list is fast even if others retain many notifications.
  /// The result can contain notifications that the requester may not list. So the caller must check each one
  /// with `listableEntry`.
  package func retainedNotifications(
    of connection: UInt64, for slot: ConnectionSlot?
  ) -> [RetainedNotification] {
    var found: [RetainedNotification] = []
    if let patterns = slot.flatMap({ patternsOfListable(at: $0) }) {
      var numbers: Set<UInt64> = []
      for pattern in patterns {
        found += retained.matching(pattern, object: nil).filter { numbers.insert($0.number).inserted }
      }
    } else {
      found = retained.all
    }
    return connection == 0 ? found : found.filter { $0.sender.rawValue == connection }
  }

  package func listableEntry(
    of notification: RetainedNotification, for slot: ConnectionSlot?, at now: Instant
  ) -> RetainedEntry? {
    let entry = notification.entry(at: now)
    let mayList = mayList(
      Pattern(accepted: entry.name), object: entry.object, of: notification.sender, for: slot)
    return mayList ? entry : nil
  }

  package func tail(of query: QueryID) -> QueryTail? {
    queries.place(of: query).map { queries.tail(at: $0) }
  }
}
