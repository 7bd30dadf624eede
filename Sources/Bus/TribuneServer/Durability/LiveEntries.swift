// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// Decides which log entries a compaction keeps. *Younger* entries were appended after the compaction began.
///
/// | entry | kept |
/// | --- | --- |
/// | connect | if the connection was open when the compaction began, or if the entry is younger |
/// | frame that registers, cancels or suspends | if the frame is in force, or the entry is younger |
/// | disconnect, registrationEnds, advance, postponedPostDone | if the entry is younger |
/// | retained, with a notification | while the bus retains the notification |
/// | retained, saying that the bus has forgotten a notification | if the entry is younger |
/// | postponedPost | while the post waits |
/// | controlFrame | while the frame is unsent |
/// | detached | while the client's session is detached (`DetachedSession`) |
/// | succession | while the successor is connected or detached |
/// | all others | never: `Compactor` writes the current counters, configuration, queries and so on |
final class LiveEntries {
  let sessions: SessionTable
  let bus: Cell<Bus>.Reference
  private let postponed: PostponedPosts
  /// Connections that ended since the compaction began. Without their connect entries, a replay would skip
  /// the changes that these connections made to registrations of others.
  private var ended: Set<ConnectionID> = []

  init(_ postponed: PostponedPosts, _ context: ServerContext) {
    (sessions, bus, self.postponed) = (context.sessions, context.bus, postponed)
  }

  func compactionBegins() { ended.removeAll() }

  func markEnded(_ id: ConnectionID) { ended.insert(id) }

  /// True if a compaction must keep the entry. Also forgets the log position of a registration that ended.
  func isLive(_ entry: LogEntry, isTail: Bool) -> Bool {
    switch entry.kind {
    case .counters, .configuration, .questionFailure, .questionsRead, .query, .action, .questionTurns,
      .awaitedPost, .abandonment, .inFlight, .buffered, .handoverEnd:
      false
    // A newer version of the bus wrote the entry. This version cannot keep the entry up to date.
    case nil: false
    case .disconnect, .advance, .postponedPostDone, .registrationEnds: isTail
    case .postponedPost: postponed.contains(entry)
    case .connect: isTail || isConnectInForce(entry) || ended.contains(entry.connection)
    case .frame: isLiveFrame(entry, isTail: isTail)
    case .retained: isStillRetained(entry, isTail: isTail)
    case .detached: sessions.detached(entry.connection) != nil
    case .succession: sessions.account(of: entry.connection) != nil
    case .controlFrame: isUnsent(entry)
    }
  }

  private func isConnectInForce(_ entry: LogEntry) -> Bool {
    sessions.withPositions(of: entry.connection) { positions, _ in positions.connect } == entry.position
  }

  /// Finds the session by its slot, without a hash lookup, because most entries are control frames.
  private func isUnsent(_ entry: LogEntry) -> Bool {
    let frame = ControlFrameID(entry.moment)
    guard let session = sessions.session(ifAt: frame.slot), session.id == entry.connection
    else { return false }
    // Control frames are sent in order, so the last `unsentControlCount` of them are unsent.
    return session.output.controlCount &- frame.number
      < UInt32(truncatingIfNeeded: session.output.queue.unsentControlCount)
  }

  private func isLiveFrame(_ entry: LogEntry, isTail: Bool) -> Bool {
    guard let frame = LoggedFrame(entry.body), frame.kind?.effect?.isAboutRegistrations == true else {
      return false
    }
    if isTail { return true }
    return sessions.withPositions(of: entry.connection) { positions, slot in
      if frame.kind == .suspend { return positions.suspend == entry.position && bus.value.isSuspended(slot) }
      guard positions.registrations[frame.serial] == entry.position else { return false }
      if bus.value.isRegistered(frame.serial, by: slot) { return true }
      positions.registrations[frame.serial] = nil
      return false
    } ?? false
  }

  private func isStillRetained(_ entry: LogEntry, isTail: Bool) -> Bool {
    // An entry that begins with 0, or is too short to contain a notification, says that the bus has forgotten
    // a notification. If the entry is younger, the compaction must keep it: the compaction can already have
    // copied the older entry with the notification.
    if entry.body.byteCount <= RetainedFiles.headLength || entry.body.integer(at: 0, as: UInt8.self) == 0 {
      return isTail
    }
    do throws(WireError) {
      return try bus.value.isRetained(entry.body.extracting(droppingFirst: RetainedFiles.headLength))
    } catch {
      return false
    }
  }

  func apply(_ relocation: Relocation) {
    let (from, to) = (relocation.from, relocation.to)
    _ = sessions.withPositions(of: relocation.connection) { positions, _ in
      switch relocation.what {
      case .connection: if positions.connect == from { positions.connect = to }
      case .suspension: if positions.suspend == from { positions.suspend = to }
      case .registration(let serial):
        if positions.registrations[serial] == from { positions.registrations[serial] = to }
      }
    }
  }
}

/// An entry's move to the log's other segment. `to` is valid after the segments have changed roles.
struct Relocation {
  enum What {
    case connection
    case suspension
    case registration(Serial)
  }

  let connection: ConnectionID
  let what: What
  let from: EntryPosition
  let to: EntryPosition
}

/// The numbers of the posts that wait for their delivery.
final class PostponedPosts {
  private var numbers: Set<UInt64> = []

  var count: Int { numbers.count }

  func insert(_ number: UInt64) { numbers.insert(number) }

  func remove(_ number: UInt64) { numbers.remove(number) }

  fileprivate func contains(_ entry: LogEntry) -> Bool {
    entry.body.byteCount >= 8 && numbers.contains(entry.body.integer(at: 0, as: UInt64.self))
  }
}
