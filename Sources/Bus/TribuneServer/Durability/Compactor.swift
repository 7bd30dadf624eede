// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// Compacts the write-ahead log, and decides which frames the log admits.
///
/// A compaction copies the live entries (`LiveEntries`), a part in each iteration. At its end, the compaction
/// writes the counters, the configuration, and all open queries, actions, awaited posts and question turns.
/// `compactNow` compacts without interruption, which blocks the event loop for up to a second.
///
/// Above its admission limit, the log admits no new work, such as queries. Consequences of admitted work,
/// such as answers, are always appended: without them, a replay would decide differently.
final class Compactor {
  private static let stepLength = 131_072
  /// How many bytes a step reads for each byte that was appended since the last step. With a value of 1 or
  /// less, the compaction might never reach the end of the log.
  private static let stepPerAppended = 4
  /// How long the next compaction usually waits, if the last one has failed, or if the log has grown little
  /// since the last one. Without this wait, the next compaction would free little.
  private static let retryNanoseconds: UInt64 = 1_000_000_000
  /// In bytes: the space to keep free for the rest of a transaction. Few transactions append more.
  private static let transactionLength = 65_536

  private let wal: WriteAheadLog
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let live: LiveEntries
  let turnover = LogTurnover()
  private let context: ServerContext
  /// Separate from the recorder's buffer, which can hold an entry when `Recorder.record` compacts.
  private let buffer = ByteBuffer(capacity: 256)

  private var relocations: [Relocation] = []
  private var lengthAtLastStep = 0
  private(set) var lengthAtLastEnd = 0
  private var isWanted = false
  private var retryFrom = Instant(nanoseconds: 0)
  private var backoffUntil = Instant(nanoseconds: 0)
  private var isFull = false
  private var refusedLength = 0

  init(_ wal: WriteAheadLog, _ live: LiveEntries, _ context: ServerContext) {
    (bus, sessions) = (context.bus, context.sessions)
    (self.wal, self.live, self.context) = (wal, live, context)
  }

  // MARK: Compaction

  func step(at now: Instant) {
    let appended = wal.usedLength - lengthAtLastStep
    lengthAtLastStep = wal.usedLength
    if wal.isCompacting {
      if compact(lengthMax: max(Self.stepLength, Self.stepPerAppended * appended)) { end(at: now) }
    } else if takeReason(at: now) {
      begin()
    }
  }

  func compactNow(at now: Instant) {
    wal.commit()
    // The compaction under way can have copied entries that are dead by now, so another one must follow.
    if wal.isCompacting { finish(at: now) }
    compactWhole(at: now)
  }

  func compactWhole(committing commits: Bool = false, at now: Instant) {
    begin(committing: commits)
    finish(at: now)
  }

  private func begin(committing commits: Bool = false) {
    live.compactionBegins()
    wal.beginCompaction(committing: commits)
  }

  func markEnded(_ id: ConnectionID) {
    if wal.isCompacting { live.markEnded(id) }
  }

  private func finish(at now: Instant) {
    while !compact(lengthMax: .max) {}
    end(at: now)
  }

  private func compact(lengthMax: Int) -> Bool {
    wal.compact(
      lengthMax: lengthMax,
      isLive: { entry, isTail in live.isLive(entry, isTail: isTail) },
      relocated: { entry, position in addRelocation(of: entry, to: position) })
  }

  private func end(at now: Instant) {
    let isWhole = appendSnapshot(at: now)
    if !isWhole { wal.abandonCompaction() }
    let hasEnded = isWhole && wal.endCompaction()
    if hasEnded { for relocation in relocations { live.apply(relocation) } }
    relocations.removeAll()
    retryFrom = now.advanced(byNanoseconds: Self.retryNanoseconds)
    if !hasEnded { backoffUntil = retryFrom }
    lengthAtLastEnd = wal.usedLength
    clearFullIfPossible()
    // If live entries leave less than an eighth of the limit, waiting for a compaction would not help users.
    // `turnover` therefore gets an eighth even then, and the log refuses frames for which it has no space.
    turnover.begin(space: max(wal.admissionLimit / 16 * 15 - wal.usedLength, wal.admissionLimit / 8))
  }

  private func appendSnapshot(at now: Instant) -> Bool {
    let buffer = self.buffer
    buffer.truncate(to: 0)
    LoggedCounters(bus: bus.value.counters, lastConnection: sessions.lastID).append(to: buffer)
    var hasSpace = wal.appendToCompaction(.counters, connection: .bus, at: now, buffer.bytes) != nil
    buffer.truncate(to: 0)
    bus.value.appendConfiguration(to: buffer)
    hasSpace =
      hasSpace && wal.appendToCompaction(.configuration, connection: .bus, at: now, buffer.bytes) != nil
    bus.value.forEachUnderWay { what, session, fields in
      let kind: EntryKind =
        switch what {
        case .query: .query
        case .action: .action
        case .awaitedPost: .awaitedPost
        case .turns: .questionTurns
        }
      hasSpace = hasSpace && wal.appendToCompaction(kind, connection: session, at: now, fields.bytes) != nil
    }
    return hasSpace
  }

  private func addRelocation(of entry: LogEntry, to position: EntryPosition) {
    let what: Relocation.What
    switch entry.kind {
    case .connect:
      what = .connection
    case .frame:
      guard let frame = LoggedFrame(entry.body) else { return }
      what = frame.kind == .suspend ? .suspension : .registration(frame.serial)
    default: return
    }
    relocations.append(
      Relocation(connection: entry.connection, what: what, from: entry.position, to: position))
  }

  // MARK: Space

  /// Compacts if the log lacks space for `length` bytes and the rest of the transaction. Within the
  /// transaction, a compaction would be impossible. The log gets that full only if its segments are short for
  /// lack of memory.
  @inline(__always) func reserve(_ length: Int, at now: Instant) {
    if wal.freeLength < length + Self.transactionLength { compactNow(at: now) }
  }

  /// Why the log cannot take the frame; nil if it can. If space is short, can first compact the log.
  func refusal(of frame: FrameView, from user: UserAccount, at now: Instant) -> WireError? {
    var length = frame.bytes.byteCount + LoggedFrame.headLength
    guard length <= wal.admittedBodyLengthMax else { return tooLong(frame) }
    if !user.isPrivileged { length += wal.admissionLimit / 16 }
    if wal.admits(bodyLength: length) { return nil }
    let appended = wal.usedLength - lengthAtLastEnd
    // A compaction is affordable now: it takes little longer than the appends since the last compaction.
    if appended >= wal.admissionLimit / 2 || appended >= wal.admissionLimit / 8 && now >= retryFrom {
      compactNow(at: now)
      if wal.admits(bodyLength: length) { return nil }
    }
    isWanted = true
    markFull(for: length)
    return Self.noSpace
  }

  private static let noSpace = WireError(.limitExceeded, "the log of the bus is full (LogMax=)")

  private func tooLong(_ frame: FrameView) -> WireError {
    WireError(
      .limitExceeded,
      """
      a frame of \(frame.bytes.byteCount) bytes does not fit into the log of the bus, which can have \
      \(wal.admissionLimit) bytes (LogMax=)
      """)
  }

  private func markFull(for length: Int) {
    refusedLength = max(refusedLength, min(length, wal.admissionLimit / 2))
    guard !isFull else { return }
    isFull = true
    context.log.warning(
      """
      the log is full (LogMax=): refusing delegates, holds, declarations and queries; new observations do not survive \
      a restart
      """)
  }

  private func takeReason(at now: Instant) -> Bool {
    if wal.isCompactionDue || turnover.isAwaited, now >= backoffUntil { return true }
    guard isWanted, now >= retryFrom else { return false }
    isWanted = false
    return true
  }

  func clearFullIfPossible() {
    // With a lower threshold, this message would often alternate with the warning of `markFull`.
    let free = wal.admissionLimit - wal.usedLength
    guard isFull, free >= max(wal.admissionLimit / 4, refusedLength) else { return }
    isFull = false
    refusedLength = 0
    context.log.notice("the log has space again")
  }
}
