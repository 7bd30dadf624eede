// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// How the log of the state is kept short: what is still true of it is copied to its other area, a little in each pass
/// while the log goes on, and the areas change roles at the end.
///
/// Of what was written before the sweep began, what registered something that is still registered is live. What
/// was written since is copied as it is. Queries and awaited posts are left out, all that is about them, and written
/// whole in the moment in which the areas change, behind the configuration that is in force then. What is copied needs
/// none: beside the frame that registers something lies what it relies on.
extension BusServer {
  /// Bytes of the log that one pass goes through, at least.
  private static let sweepLength = 131_072

  /// The same for each that it has written: so a sweep comes to an end before there is no room, however much is written.
  private static let sweptPerWritten = 4

  /// Called at the end of each pass.
  func sweepState() {
    let written = wal.usedLength - lengthAtSweepStep
    lengthAtSweepStep = wal.usedLength
    if isSweeping {
      if compact(lengthMax: max(Self.sweepLength, Self.sweptPerWritten * written)) { endCompaction() }
    } else if takeReasonToSweep() {
      isSweeping = true
      wal.beginCompaction()
    }
  }

  /// Sweeps to the end, where there is no room or no time.
  func makeRoomInState() {
    wal.commit()
    // What one sweep copies verbatim because it came after it had begun may be dead by now.
    if isSweeping {
      while !compact(lengthMax: .max) {}
      endCompaction()
    }
    sweepWholeState()
  }

  /// - Parameter commits: whether what was written becomes visible only with what the end of the sweep writes.
  func sweepWholeState(committing commits: Bool = false) {
    precondition(!isSweeping, "a sweep is under way")
    isSweeping = true
    wal.beginCompaction(committing: commits)
    while !compact(lengthMax: .max) {}
    endCompaction()
  }

  private func compact(lengthMax: Int) -> Bool {
    wal.compact(
      lengthMax: lengthMax,
      isLive: { record, isTail in isLive(record, isTail: isTail) },
      relocated: { record, position in note(record, movedTo: position) })
  }

  private func endCompaction() {
    isSweeping = false
    var moves: [Relocation] = []
    swap(&moves, &self.moves)
    guard writeWhatIsUnderWay() else {
      wal.abandonCompaction()
      noteSwept(isInVain: true)
      return
    }
    guard wal.endCompaction() else { return noteSwept(isInVain: true) }
    for move in moves { carryOut(move) }
    noteSwept(isInVain: false)
  }

  /// - Returns: whether there was room for it.
  private func writeWhatIsUnderWay() -> Bool {
    let buffer = sweepBuffer
    buffer.truncate(to: 0)
    LoggedCounters(
      bus: bus.counters, lastConnection: lastConnection, posted: postedCount, delivered: deliveredCount,
      lost: lostCount
    ).append(to: buffer)
    var hasRoom = wal.appendToCompaction(.counters, connection: .bus, at: now, buffer.bytes) != nil
    buffer.truncate(to: 0)
    appendConfiguration(to: buffer)
    hasRoom =
      hasRoom && wal.appendToCompaction(.configuration, connection: .bus, at: now, buffer.bytes) != nil
    bus.forEachUnderWay { what, connection, fields in
      let kind: EntryKind = what == .query ? .query : .awaitedPost
      hasRoom = hasRoom && wal.appendToCompaction(kind, connection: connection, at: now, fields.bytes) != nil
    }
    return hasRoom
  }

  private func isLive(_ record: LogEntry, isTail: Bool) -> Bool {
    switch record.kind {
    case .counters, .configuration, .questionFailure, .query, .awaitedPost, .inFlight, .buffered,
      .handoverEnd:
      false
    // What only newer versions know cannot be kept up to date.
    case nil: false
    case .disconnect, .advance, .postponedPostDone: isTail
    case .postponedPost: isWaiting(record)
    case .connect: isTail || connection(record.connection)?.position == record.position
    case .frame: isLiveFrame(record, isTail: isTail)
    case .retained: isStillRetained(record, isTail: isTail)
    case .detached: connection(record.connection)?.isOrphan == true
    case .controlFrame: isUnsent(record)
    }
  }

  /// Most of what a sweep goes through is said: nothing is looked up by a hash for it.
  private func isUnsent(_ record: LogEntry) -> Bool {
    let place = ControlFrameID(record.moment)
    guard connections.value.indices.contains(place.slot), let connection = connections.value[place.slot],
      connection.id == record.connection
    else { return false }
    // Those that were sent are the first.
    return connection.traffic.value.saidCount &- place.number
      < UInt32(truncatingIfNeeded: connection.queue.unsentOtherCount)
  }

  private func isLiveFrame(_ record: LogEntry, isTail: Bool) -> Bool {
    guard let frame = LoggedFrame(record.body), frame.kind.isAboutRegistrations else { return false }
    if isTail { return true }
    guard let connection = connection(record.connection) else { return false }
    if frame.kind == .suspend {
      return connection.suspendPosition == record.position && bus.isSuspended(connection.slot)
    }
    guard connection.registered[frame.serial] == record.position else { return false }
    if bus.isRegistered(frame.serial, by: connection.slot) { return true }
    // Somebody else has ended it.
    connection.registered[frame.serial] = nil
    return false
  }

  private func isStillRetained(_ record: LogEntry, isTail: Bool) -> Bool {
    // That it is forgotten matters to what was copied before.
    if record.body.byteCount <= LoggedRetention.headLength
      || record.body.integer(at: 0, as: UInt8.self) == 0
    {
      return isTail
    }
    do throws(WireError) {
      return try bus.isRetained(record.body.extracting(droppingFirst: LoggedRetention.headLength))
    } catch {
      return false
    }
  }

  private func note(_ record: LogEntry, movedTo position: EntryPosition) {
    let what: Relocation.What
    switch record.kind {
    case .connect:
      what = .connection
      rewriteCounts(in: record, at: position)
    case .frame:
      guard let frame = LoggedFrame(record.body) else { return }
      what = frame.kind == .suspend ? .suspension : .registration(frame.serial)
    default: return
    }
    moves.append(Relocation(connection: record.connection, what: what, from: record.position, to: position))
  }

  /// Has a record that was kept say what its connection has posted and lost by now.
  private func rewriteCounts(in record: LogEntry, at position: EntryPosition) {
    guard let connection = connection(record.connection) else { return }
    let buffer = sweepBuffer
    buffer.truncate(to: 0)
    ConnectionFacts.append(
      record.body, posted: connection.postedCount, lost: connection.queue.lostCount, to: buffer)
    wal.rewrite(record, keptAt: position, buffer.bytes)
  }

  private func carryOut(_ move: Relocation) {
    guard let connection = connection(move.connection) else { return }
    switch move.what {
    case .connection:
      if connection.position == move.from { connection.position = move.to }
    case .suspension:
      if connection.suspendPosition == move.from { connection.suspendPosition = move.to }
    case .registration(let serial):
      if connection.registered[serial] == move.from { connection.registered[serial] = move.to }
    }
  }

  private func connection(_ id: ConnectionID) -> Connection? {
    guard let slot = slotsByID[id.rawValue] else { return nil }
    return connections.value[slot]
  }
}

/// A record that a sweep has copied. It counts when the areas have changed roles.
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

/// Which of the frames that a connection was told one is, and where that connection is: what a record of it has for
/// its moment.
nonisolated struct ControlFrameID {
  /// Counted from the first of the connection's on, and wrapping around.
  let number: UInt32
  let slot: Int

  init(number: UInt32, slot: Int) { (self.number, self.slot) = (number, slot) }

  init(_ moment: Instant) {
    number = UInt32(truncatingIfNeeded: moment.nanoseconds)
    slot = Int(moment.nanoseconds >> 32)
  }

  var moment: Instant { Instant(nanoseconds: UInt64(number) | UInt64(slot) << 32) }
}

/// A frame as the state has it: behind the last ids of queries and delegates that had been given out before, and before
/// what it relies on (`Bus.appendContext`), or why nothing was kept of what it says.
struct LoggedFrame: ~Escapable {
  static let headLength = 16

  let lastQuery: UInt64
  let lastDelegate: UInt64
  /// The frame's bytes.
  let bytes: RawSpan
  let context: RawSpan

  @_lifetime(copy body)
  init?(_ body: RawSpan) {
    guard body.byteCount >= Self.headLength + FrameHeader.length else { return nil }
    lastQuery = body.integer(at: 0, as: UInt64.self)
    lastDelegate = body.integer(at: 8, as: UInt64.self)
    let rest = body.extracting(Self.headLength..<body.byteCount)
    let length = Int(rest.integer(at: 0, as: UInt32.self))
    guard length >= FrameHeader.length, length <= rest.byteCount else { return nil }
    bytes = rest.extracting(first: length)
    context = rest.extracting(droppingFirst: length)
  }

  var kind: FrameKind? { FrameKind(rawValue: bytes.integer(at: 4, as: UInt8.self)) }
  var serial: Serial { bytes.integer(at: FrameHeader.serialOffset, as: UInt64.self) }
}

extension FrameKind? {
  /// Whether it can register something, end what is registered, or suspend.
  fileprivate var isAboutRegistrations: Bool {
    switch self {
    case .observe, .monitor, .attach, .hold, .declare, .suspend, .cancel: true
    default: false
    }
  }
}
