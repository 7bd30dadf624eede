// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Logs everything that the next daemon needs if this one dies (see `WriteAheadLog`).
///
/// The recorder logs disconnects, deadlines and most frames as they come in. It logs a post's effects instead
/// of the post. It logs *control frames* (all frames to clients except notifications and `lost`) when the bus
/// queues them. A connection's counter slot counts queued notifications, and has flags for a read or write in
/// progress (`SessionCounters`).
///
/// A *transaction* is one event for the core with all its effects. A single store commits the event and the
/// effects, before the bus sends any effect. So the next daemon knows every frame that a client has read, and
/// finds the unsent frames in the log. If only the event were committed, its effects would reach no client,
/// because a replay drops all effects. A compaction also commits. Within a transaction, only `end` may
/// therefore begin a compaction.
final class Recorder {
  /// The permission to apply effects. Only one exists; the recorder has it while no transaction is open.
  struct Transaction: ~Copyable {
    fileprivate init() {}
  }

  /// In bytes. Longer control frames are not logged. If the daemon dies before such a frame is sent, the
  /// client must reconnect.
  private static let controlFrameLengthMax = 65_536

  let wal: WriteAheadLog
  private let compactor: Compactor
  let postponed = PostponedPosts()
  /// False if the bus runs without a keeper. The recorder then logs nothing.
  let isLogging: Bool
  let keeper: KeeperLink
  private let context: ServerContext
  let sessions: SessionTable
  let bus: Cell<Bus>.Reference
  private let files: UserInfoFiles
  private let buffer = ByteBuffer(capacity: 4096)
  let retainedFiles = Cell(RetainedFiles())
  private var transaction: Transaction? = Transaction()
  private let receiving = Cell<[Session]>([])
  private var isSealed = false
  #if DEBUG
    /// Called after each commit.
    var committed: (() -> Void)?
  #endif

  init(_ wal: WriteAheadLog, _ keeper: KeeperLink, _ files: UserInfoFiles, _ context: ServerContext) {
    wal.admissionLimit = context.configuration.logMaxBytes
    (bus, sessions) = (context.bus, context.sessions)
    (self.wal, self.keeper, self.files, self.context) = (wal, keeper, files, context)
    isLogging = !keeper.hasEnded
    compactor = Compactor(wal, LiveEntries(postponed, context), context)
  }

  // MARK: Compaction

  /// Commits first, because a compaction reads only committed entries.
  func commitAndCompact() {
    commit()
    compactor.step(at: context.now)
  }

  func compactNow() { compactor.compactNow(at: context.now) }

  // MARK: Transactions

  var hasOpenTransaction: Bool { transaction == nil }

  /// - Parameter length: the number of bytes to log before the effects. If the log lacks space for these
  ///   bytes, the recorder first compacts the log. Nil prevents a compaction.
  func begin(reserving length: Int?) -> Transaction {
    guard let transaction = transaction.take() else { preconditionFailure("a transaction is open") }
    if let length { compactor.reserve(length, at: context.now) }
    return transaction
  }

  /// - Parameter compacts: true if a compaction must commit the transaction.
  func end(_ transaction: consuming Transaction, compacting compacts: Bool = false) {
    storeAllBufferedCounts()
    if compacts { compactor.compactWhole(committing: true, at: context.now) }
    self.transaction = consume transaction
    commit()
  }

  @inline(__always) func commit() {
    precondition(!isSealed, "a bus that was handed over must not change")
    precondition(!hasOpenTransaction, "a transaction is committed as a whole")
    wal.commit()
    #if DEBUG
      committed?()
    #endif
    if retainedFiles.value.hasForgotten { removeForgottenFiles() }
  }

  func seal() { isSealed = true }

  // MARK: Frames

  /// Must be called before the core gets the frame. If space is short, can compact the log.
  ///
  /// - Returns: true if the caller must log the frame when the core has accepted it.
  /// - Throws: a refusal, if the log has no space.
  func admit(_ frame: FrameView, of session: Session) throws(WireError) -> Bool {
    guard session.positions.connect != nil else { return false }
    switch frame.header.kind?.effect {
    case .decides, .asks:
      if let error = compactor.refusal(of: frame, from: session.account, at: context.now) { throw error }
    // Without space, observations and monitors are not logged. Their clients must reconnect after a restart.
    case .observes:
      if compactor.refusal(of: frame, from: session.account, at: context.now) != nil {
        setFlag(.incomplete, of: session)
        return false
      }
    case .suspends, .cancels, .answers: break
    case .passes, nil: return false
    }
    compactor.turnover.charge(frame.bytes.byteCount, to: session.user)
    return true
  }

  /// Must be called before the frame's effects are applied.
  ///
  /// - Parameter last: the ids of the last query and delegate before the frame.
  func record(_ frame: FrameView, _ acceptance: Acceptance, after last: BusCounters, of session: Session) {
    let (words, bytes) = ((last.lastQuery, last.lastDelegate), frame.bytes)
    let position: EntryPosition?
    if let context = acceptance.context {
      position = record(.frame, of: session.id, words: words, bytes, context.bytes)
    } else {
      position = record(.frame, of: session.id, words: words, bytes)
    }
    switch frame.header.kind?.effect {
    case .suspends: session.positions.suspend = position
    case .observes, .decides:
      if acceptance.isRegistered { session.positions.registrations[frame.header.serial] = position }
    case .answers, .asks, .cancels, .passes, nil: break
    }
    keepOpen(session)
  }

  /// Must be called before a client learns of the ids.
  func storeIDs(givenTo acceptance: Acceptance) {
    guard isLogging else { return }
    if let query = acceptance.query { wal.setLast(.query, query.rawValue) }
    if let delegate = acceptance.delegate { wal.setLast(.delegate, delegate.rawValue) }
  }

  func keepOpen(_ session: Session) {
    guard !session.isKept else { return }
    session.isKept = keeper.keep(.connection(session.cookie), lending: session.descriptor.rawValue)
  }

  /// Records all ends in one entry. If each end had an entry, a replay of one end could go on to ask a
  /// delegate whose end is in the next entry.
  func recordEnds(of registrations: [RegistrationPlace]) {
    guard isLogging else { return }
    let buffer = emptyBuffer()
    for place in registrations {
      guard let id = sessions[place.slot]?.id ?? sessions.detached(at: place.slot)?.id else { continue }
      buffer.append(id.rawValue)
      buffer.append(place.serial)
    }
    if buffer.count > 0 { record(.registrationEnds, of: .bus, buffer.bytes) }
  }

  // MARK: Other entries

  func hasSlot(_ slot: ConnectionSlot) -> Bool { slot.index < wal.slotCount }

  func admit(_ session: Session) {
    wal.setLast(.connection, session.id.rawValue)
    wal.assignSlot(session.slot.index, to: session.id)
  }

  func recordConnection(_ session: Session) {
    let buffer = emptyBuffer()
    ConnectionFacts(session).append(to: buffer)
    session.positions.connect = record(.connect, of: session.id, buffer.bytes)
  }

  /// Must be called in a transaction. Outside of a transaction, `record` could compact the log, and so drop
  /// the connect entry that the disconnect entry needs.
  func recordDisconnection(of id: ConnectionID) {
    let position = sessions.withPositions(of: id) { positions, _ in
      defer { positions.connect = nil }
      return positions.connect
    }
    guard position != nil else { return }
    compactor.markEnded(id)
    record(.disconnect, of: id)
  }

  /// Must be called in a recovery. Does not compact, because the recovery must end first.
  func recordDetached(_ id: ConnectionID, until end: Instant) {
    if isLogging { append(.detached, of: id, at: end) }
  }

  func recordRead(by id: ConnectionID) { record(.questionsRead, of: id) }

  func recordSuccession(of predecessors: [ConnectionID], by session: Session) {
    session.predecessors += predecessors
    guard isLogging else { return }
    for id in predecessors {
      let buffer = emptyBuffer()
      buffer.append(id.rawValue)
      record(.succession, of: session.id, buffer.bytes)
    }
  }

  func recordAdvance(waitingFor unheard: [Session], until end: Instant) {
    guard isLogging else { return }
    let buffer = emptyBuffer()
    buffer.append(end.nanoseconds)
    for session in unheard { buffer.append(session.id.rawValue) }
    record(.advance, buffer.bytes)
  }

  func recordAwaitedPost(_ serial: Serial, of session: Session) {
    guard isLogging else { return }
    let buffer = emptyBuffer()
    guard bus.value.appendAwaitedPost(serial, by: session.id, to: buffer) else { return }
    record(.awaitedPost, of: session.id, buffer.bytes)
    keepOpen(session)
  }

  func recordAbandonment(of serial: Serial, of poster: ConnectionID, by session: Session) {
    guard isLogging else { return }
    let buffer = emptyBuffer()
    buffer.append(poster.rawValue)
    buffer.append(serial)
    record(.abandonment, of: session.id, buffer.bytes)
  }

  func recordFailure(of question: Question, reason: String) {
    guard isLogging else { return }
    let buffer = emptyBuffer()
    buffer.append(question.query.rawValue)
    buffer.append(question.delegate.rawValue)
    buffer.appendField(reason)
    record(.questionFailure, buffer.bytes)
  }

  /// Logs a waiting post, in case the daemon dies. A planned restart first delivers all waiting posts.
  func recordPostponed(_ slice: ByteSlice, number: UInt64, from poster: ConnectionID, uid: UInt32) {
    postponed.insert(number)
    guard isLogging else { return }
    // The entry contains the userInfo of a file, because the keeper does not get the file.
    guard let frame = slice.buffer.attachment == nil ? slice : files.inlined(slice) else { return }
    let buffer = emptyBuffer()
    buffer.append(number)
    buffer.append(uid)
    record(.postponedPost, of: poster, buffer.bytes, frame.bytes)
  }

  func recordDelivered(postponed number: UInt64) {
    postponed.remove(number)
    guard isLogging else { return }
    let buffer = emptyBuffer()
    buffer.append(number)
    record(.postponedPostDone, buffer.bytes)
  }

  /// Logs the current configuration. Must be called before any event whose effects depend on this
  /// configuration.
  func recordConfiguration() {
    wal.admissionLimit = context.configuration.logMaxBytes
    compactor.clearFullIfPossible()
    let buffer = emptyBuffer()
    bus.value.appendConfiguration(to: buffer)
    record(.configuration, buffer.bytes)
  }

  func recordHandoverEnd(inFlight: UInt64) {
    let buffer = emptyBuffer()
    buffer.append(inFlight)
    record(.handoverEnd, buffer.bytes)
    wal.commit()
  }

  /// - Parameter isRecorded: false for a frame that is not worth logging, such as an entry of a long list.
  func recordControlFrame(_ slice: ByteSlice, _ rest: ByteSlice?, to session: Session, isRecorded: Bool) {
    guard isLogging, session.positions.connect != nil else { return }
    let number = session.output.controlCount &+ 1
    session.output.controlCount = number
    let frame = ControlFrameID(number: number, slot: session.slot.index)
    let length = slice.count + (rest?.count ?? 0)
    guard isRecorded, length <= Self.controlFrameLengthMax,
      session.output.queue.byteCount <= queueRecordedMax,
      wal.admits(bodyLength: length)
    else { return setFlag(.unlogged, of: session) }
    if let rest {
      record(.controlFrame, of: session.id, at: frame.moment, slice.bytes, rest.bytes)
    } else {
      record(.controlFrame, of: session.id, at: frame.moment, slice.bytes)
    }
  }

  func recordControlFrames(in slice: ByteSlice, to session: Session) {
    var start = slice.range.lowerBound
    while start < slice.range.upperBound {
      let end = start + slice.buffer.frameLength(at: start)
      recordControlFrame(ByteSlice(slice.buffer, start..<end), nil, to: session, isRecorded: true)
      start = end
    }
  }

  /// In bytes. Control frames in longer queues are not logged. If the log is over half full after a
  /// compaction, the control frames of all connections share an eighth of the log evenly.
  private var queueRecordedMax: Int {
    let highMark = context.configuration.queue.highMarkBytes
    guard compactor.lengthAtLastEnd > wal.admissionLimit / 2 else { return highMark }
    return min(highMark, wal.admissionLimit / 8 / max(1, sessions.count))
  }

  @inline(__always) func emptyBuffer() -> ByteBuffer {
    let buffer = self.buffer
    buffer.truncate(to: 0)
    return buffer
  }

  /// - Returns: the entry's position in the log; nil without a keeper, because the entry is then not logged.
  @discardableResult
  func record(
    _ kind: EntryKind, of id: ConnectionID = .bus, at moment: Instant? = nil, words: (UInt64, UInt64)? = nil,
    _ head: RawSpan = RawSpan(), _ body: RawSpan = RawSpan()
  ) -> EntryPosition? {
    guard isLogging else { return nil }
    if !hasOpenTransaction { compactor.reserve(head.byteCount + body.byteCount, at: context.now) }
    return append(kind, of: id, at: moment ?? context.now, words: words, head, body)
  }

  @discardableResult
  private func append(
    _ kind: EntryKind, of id: ConnectionID, at moment: Instant, words: (UInt64, UInt64)? = nil,
    _ head: RawSpan = RawSpan(), _ body: RawSpan = RawSpan()
  ) -> EntryPosition {
    guard let position = wal.append(kind, connection: id, at: moment, prefix: words, head, body) else {
      preconditionFailure(
        "the log segment is full: \(wal.usedLength) of \(wal.segmentCapacity) bytes are used"
      )
    }
    return position
  }

  // MARK: Reads under way

  @inline(__always) func markReceiving(from session: Session) {
    if isLogging { setFlag(.receiving, of: session) }
  }

  @inline(__always) func markReceived(from session: Session) {
    if isLogging { endReceiving(from: session) }
  }

  private func endReceiving(from session: Session) {
    // Commits first. If the recorder first removed the flag `receiving`, and the daemon died before the
    // commit, the effects of the read frames would be lost unnoticed.
    commit()
    // The counter slot of a closed session can already belong to another session.
    guard !session.isClosed, session.input.isEmpty else { return }
    // The log lacks posts that wait for the end of the iteration, so the flag stays until then.
    guard !bus.value.hasSoonPosts else { return receiving.value.append(session) }
    removeFlag(.receiving, of: session)
  }

  func endIteration() {
    while let session = receiving.value.popLast() {
      if !session.isClosed { markReceived(from: session) }
    }
  }
}
