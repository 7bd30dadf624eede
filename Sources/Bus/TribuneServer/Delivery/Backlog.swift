// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A connection's notifications that wait, because its client has no room or a snapshot comes first.
///
/// They follow the connection's queue in order, as do `lost` frames and introductions of posters. All other frames
/// overtake them.
struct Backlog: ~Copyable {
  /// Retained notifications are encoded when they are sent.
  struct Snapshot {
    let serial: Serial
    /// The first to send is the last.
    var values: [RetainedNotification]
    var byteCount: Int

    init(_ values: [RetainedNotification], serial: Serial) {
      self.serial = serial
      self.values = values.reversed()
      byteCount = values.reduce(0) { $0 + $1.tail.slice.weight }
    }

    mutating func removeNext() -> RetainedNotification? {
      guard let next = values.popLast() else { return nil }
      byteCount -= next.tail.slice.weight
      return next
    }
  }

  final class Part {
    var snapshot: Snapshot?
    /// Comes after the snapshot.
    var queue = OutboundQueue()
    /// The last poster introduced in `queue`.
    var introduced = ConnectionID.bus

    init(_ snapshot: Snapshot? = nil) { self.snapshot = snapshot }

    func dropSnapshot() -> UInt64 {
      guard let count = snapshot.map({ UInt64($0.values.count) }), count > 0 else { return 0 }
      snapshot = nil
      queue.prependLost(count)
      return count
    }
  }

  private(set) var parts: [Part] = []
  /// The losses of removed parts.
  private var lostBefore: UInt64 = 0

  var isEmpty: Bool { parts.isEmpty }
  var first: Part? { parts.first }

  var last: Part {
    mutating get {
      if parts.isEmpty { parts.append(Part()) }
      return parts[parts.count - 1]
    }
  }

  var queuedByteCount: Int { parts.reduce(0) { $0 + $1.queue.byteCount } }
  var byteCount: Int { parts.reduce(0) { $0 + $1.queue.byteCount + ($1.snapshot?.byteCount ?? 0) } }
  var lostCount: UInt64 { parts.reduce(lostBefore) { $0 + $1.queue.lostCount } }
  var unreportedLostCount: UInt64 { parts.reduce(0) { $0 + $1.queue.unreportedLostCount } }
  var notificationCount: UInt64 {
    parts.reduce(0) { $0 + $1.queue.unsentNotificationCount + UInt64($1.snapshot?.values.count ?? 0) }
  }

  mutating func append(_ snapshot: Snapshot) { parts.append(Part(snapshot)) }

  /// The first part must be empty.
  mutating func removeFirst() { lostBefore += parts.removeFirst().queue.lostCount }

  mutating func removeAll() {
    while !parts.isEmpty { removeFirst() }
  }

  /// Drops the oldest notifications until `target` bytes are left.
  ///
  /// - Parameter dropsSnapshots: false to spare notifications that are retained anyway.
  mutating func dropOldest(downTo target: Int, dropsSnapshots: Bool) -> UInt64 {
    var dropped: UInt64 = 0
    var left = dropsSnapshots ? byteCount : queuedByteCount
    for part in parts where left > target {
      if dropsSnapshots {
        left -= part.snapshot?.byteCount ?? 0
        dropped += part.dropSnapshot()
      }
      let before = part.queue.byteCount
      dropped += part.queue.dropOldest(downTo: max(0, before - (left - target)))
      left -= before - part.queue.byteCount
    }
    return dropped
  }

  func consolidate(with pool: BufferPool) {
    for part in parts { part.queue.consolidate(with: pool) }
  }
}
