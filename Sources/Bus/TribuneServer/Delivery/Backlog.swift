// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Notifications that wait until a connection's client accepts more, or until a snapshot before them is sent.
///
/// The bus sends the backlog after the connection's queue. `lost` frames and introductions of posters
/// (`Introducer`) keep their places among the waiting notifications. All other frames go into the queue, and
/// thus overtake the backlog.
struct Backlog: ~Copyable {
  /// The unsent retained notifications of one observation. Each is encoded when it moves to the queue.
  struct Snapshot {
    let serial: Serial
    /// In reverse order: the last element is sent first.
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

  /// A snapshot, if any, and the frames that follow it.
  final class Part {
    fileprivate(set) var snapshot: Snapshot?
    fileprivate(set) var queue = OutboundQueue()
    /// The last poster introduced in `queue`; `.bus` if there is none.
    var introduced = ConnectionID.bus

    fileprivate init(_ snapshot: Snapshot? = nil) { self.snapshot = snapshot }

    fileprivate var totals: Totals {
      Totals(
        queuedBytes: queue.byteCount, snapshotBytes: snapshot?.byteCount ?? 0,
        notifications: Int(queue.unsentNotificationCount) + (snapshot?.values.count ?? 0),
        lost: Int(queue.lostCount), unreportedLost: Int(queue.unreportedLostCount))
    }

    fileprivate func dropSnapshot() -> UInt64 {
      guard let count = snapshot.map({ UInt64($0.values.count) }), count > 0 else { return 0 }
      snapshot = nil
      queue.prependLost(count)
      return count
    }
  }

  /// Sums over all parts, stored because adding up would be slow: each observation can have a part.
  fileprivate struct Totals {
    var (queuedBytes, snapshotBytes, notifications, lost, unreportedLost) = (0, 0, 0, 0, 0)

    mutating func add(_ other: Totals, times sign: Int) {
      queuedBytes += sign * other.queuedBytes
      snapshotBytes += sign * other.snapshotBytes
      notifications += sign * other.notifications
      lost += sign * other.lost
      unreportedLost += sign * other.unreportedLost
    }
  }

  private var parts: [Part] = []
  private var head = 0
  /// `totals.lost` includes the losses of removed parts.
  private var totals = Totals()

  var isEmpty: Bool { head == parts.count }
  var first: Part? { isEmpty ? nil : parts[head] }

  var queuedByteCount: Int { totals.queuedBytes }
  var byteCount: Int { totals.queuedBytes + totals.snapshotBytes }
  var lostCount: UInt64 { UInt64(totals.lost) }
  var unreportedLostCount: UInt64 { UInt64(totals.unreportedLost) }
  var notificationCount: UInt64 { UInt64(totals.notifications) }

  mutating func append(_ snapshot: Snapshot) {
    parts.append(Part(snapshot))
    totals.add(parts[parts.count - 1].totals, times: 1)
  }

  var lastIntroduced: ConnectionID { isEmpty ? .bus : parts[parts.count - 1].introduced }

  /// Changes the queue of the last part. If the backlog is empty, first appends a part.
  mutating func changeLast<E: Error>(_ change: (inout OutboundQueue) throws(E) -> Void) throws(E) {
    if isEmpty { parts.append(Part()) }
    try self.change(parts[parts.count - 1]) { part throws(E) in try change(&part.queue) }
  }

  private mutating func change<Result, E: Error>(
    _ part: Part, _ body: (Part) throws(E) -> Result
  ) throws(E) -> Result {
    totals.add(part.totals, times: -1)
    defer { totals.add(part.totals, times: 1) }
    return try body(part)
  }

  mutating func introduce(_ poster: ConnectionID) { parts[parts.count - 1].introduced = poster }

  mutating func removeNextRetained() -> RetainedNotification? {
    guard let part = first else { return nil }
    return change(part) { $0.snapshot?.removeNext() }
  }

  /// Removes the first snapshot if it is empty. Must be called after the snapshot's last notification was
  /// queued: until then, the snapshot keeps later frames in the backlog.
  func endFirstSnapshotIfEmpty() {
    if let part = first, part.snapshot?.values.isEmpty == true { part.snapshot = nil }
  }

  /// Moves frames to `queue`, until `room` notifications are moved, or a snapshot is next. Returns the moved
  /// control frames (`OutboundQueue`).
  mutating func moveOldest(to queue: inout OutboundQueue, within room: inout Int) -> [ByteSlice] {
    var controlFrames: [ByteSlice] = []
    while let part = first, part.snapshot == nil {
      controlFrames += change(part) { $0.queue.moveOldest(to: &queue, within: &room) }
      guard part.queue.isEmpty else { break }
      removeFirst()
    }
    return controlFrames
  }

  private mutating func removeFirst() {
    head += 1
    if head == parts.count || head >= 64 && head * 2 >= parts.count {
      parts.removeFirst(head)
      head = 0
    }
  }

  mutating func removeAll() {
    (parts, head) = ([], 0)
    let lost = totals.lost
    totals = Totals()
    totals.lost = lost
  }

  /// Drops the oldest notifications until at most `target` bytes are left.
  ///
  /// - Parameter dropsSnapshots: if false, keeps snapshots, and does not count them toward `target`.
  mutating func dropOldest(downTo target: Int, dropsSnapshots: Bool) -> UInt64 {
    var dropped: UInt64 = 0
    for part in parts[head...] {
      let excess = (dropsSnapshots ? byteCount : queuedByteCount) - target
      guard excess > 0 else { break }
      change(part) { part in
        var left = excess
        if dropsSnapshots {
          left -= part.snapshot?.byteCount ?? 0
          dropped += part.dropSnapshot()
        }
        if left > 0 { dropped += part.queue.dropOldest(downTo: max(0, part.queue.byteCount - left)) }
      }
    }
    return dropped
  }

  mutating func dropSnapshots() -> UInt64 {
    var dropped: UInt64 = 0
    for part in parts[head...] { dropped += change(part) { $0.dropSnapshot() } }
    return dropped
  }

  /// Turns snapshots into frames, for a hand-over. Each call of `encode` gets a notification, and the one
  /// before it in the same snapshot; nil for the first.
  func encodeSnapshots(
    _ encode: (RetainedNotification, RetainedNotification?, Serial, inout OutboundQueue) -> Void
  ) {
    for part in parts[head...] {
      guard var snapshot = part.snapshot else { continue }
      var encoded = OutboundQueue()
      var previous: RetainedNotification?
      while let next = snapshot.removeNext() {
        encode(next, previous, snapshot.serial, &encoded)
        previous = next
      }
      part.snapshot = nil
      var room = Int.max
      _ = part.queue.moveOldest(to: &encoded, within: &room)
      encoded.lostCount += part.queue.lostCount
      swap(&part.queue, &encoded)
    }
  }

  func forEachWaiting(_ body: (WaitingFrames) -> Void) {
    for part in parts[head...] { part.queue.forEachWaiting(body) }
  }

  /// Consolidates only the last part, because frames are appended only there.
  func consolidate(with pool: BufferPool) { parts.last?.queue.consolidate(with: pool) }
}
