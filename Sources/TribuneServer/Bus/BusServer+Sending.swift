// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// How frames go out. Notifications that are not read make an observer slow (`BusServer+Flow`); everything else
/// is never dropped: past the hard limit the connection is closed.
extension BusServer {
  /// How long news that nobody waits for waits for company, at most.
  private static let flushDelayNanoseconds = 1_000_000

  /// With less room than this left, encoding goes on in a new buffer.
  private static let encodeRoom = 4096

  /// A socket that takes more has room for so much, or nearly always has.
  private static let promptLength = 65_536

  /// Copying a question's tail of up to this length costs less than a second part in the call that sends it.
  private static let copiedTailLength = 1024

  // MARK: Queueing

  /// Queues a run of notifications.
  func deliver(_ slice: ByteSlice, count: Int, to slot: ConnectionSlot, from poster: Connection) {
    guard let observer = sessions[slot] else {
      preconditionFailure("an observer has no connection")
    }
    enqueue(slice, for: observer, isNotification: true, count: count)
    guard observer.isBlocked, observer.queue.byteCount > configuration.highMarkBytes else { return }
    switch observer.flow {
    case .flowing, .pacing: pace(poster, for: observer)
    case .lossy: drop(from: observer, downTo: configuration.highMarkBytes)
    }
  }

  /// Queues a notification that wanted more than to be handed on.
  private func deliver(_ slice: ByteSlice, to receivers: [Receiver], from poster: Poster) {
    // Who posted it may have gone while it waited.
    let source = sessions[poster.id]
    for receiver in receivers {
      if let source {
        deliver(slice, count: 1, to: receiver.slot, from: source)
      } else {
        deliverWithoutPacing(slice, to: connection(at: receiver.slot))
      }
    }
    statistics.delivered += UInt64(receivers.count)
    if bus.isMonitored { monitorPost(slice, receivers: receivers.count, from: poster.id) }
  }

  /// Queues what was held while a connection was suspended. It is bounded, and the connection has not been sent
  /// it yet: its flow is looked at with what comes next.
  private func deliverBuffered(_ slices: [ByteSlice], lost: UInt64, to connection: Connection) {
    tellLost(lost, to: connection, wereBuffered: true)
    for slice in slices {
      enqueue(slice, for: connection, isNotification: true, count: slice.frameCount, wereBuffered: true)
    }
    noteBuffered(for: connection)
    if bus.isMonitored { monitorBuffered(slices, lost: lost, to: connection) }
  }

  /// Says that notifications were dropped that never came to be queued.
  func tellLost(_ count: UInt64, to connection: Connection, wereBuffered: Bool = false) {
    guard count > 0 else { return }
    guard !connection.isWriteClosed, connection.isServed else {
      // The connection that comes in its place is told.
      if connection.isDetached {
        noteQueued(Int(clamping: count), for: connection, wereBuffered: wereBuffered)
      }
      return
    }
    let before = connection.queue.byteCount
    connection.queue.appendLost(count)
    queuedByteCount += connection.queue.byteCount - before
    noteQueued(Int(clamping: count), for: connection, wereBuffered: wereBuffered)
    statistics.lost += count
    scheduleFlush(connection)
  }

  /// Queues what was retained, as a file to whoever takes one if it came as one.
  private func deliver(
    _ retained: Retained, _ tail: QueryTail, from sender: ConnectionID, to connection: Connection,
    serial: Serial
  ) {
    var retained = retained
    let file = tail.slice.buffer.attachment
    if let file { retained.length = UInt32(file.length) }
    let buffer =
      file.map { ByteBuffer(capacity: FileFrames.frameLength, attachment: $0) }
      ?? bufferToEncode(for: Self.encodeRoom + tail.slice.count)
    let start = buffer.count
    buffer.appendHead(
      of: retained, flags: file == nil ? [] : .descriptor, sender: sender, serial: serial,
      nameLength: tail.nameLength, objectLength: tail.objectLength, payloadLength: tail.payloadLength)
    buffer.append(tail.slice.bytes)
    let slice = ByteSlice(buffer, start..<buffer.count)
    enqueue(slice, for: connection, isNotification: true)
    if bus.isMonitored { monitorRetained(slice, tail, from: sender, to: connection) }
  }

  /// Queues what a monitor sees, or what the bus itself posts. Nobody is paused for that: a connection that
  /// does not keep up loses at once, unless it has been given time already.
  ///
  /// - Parameter isTold: whether others are told if it does.
  func deliverWithoutPacing(_ slice: ByteSlice, to observer: Connection, isTold: Bool = true) {
    enqueue(slice, for: observer, isNotification: true)
    guard observer.isBlocked, observer.queue.byteCount > configuration.highMarkBytes,
      observer.flow != .pacing
    else { return }
    drop(from: observer, downTo: configuration.highMarkBytes, isTold: isTold)
  }

  /// - Parameters:
  ///   - rest: what follows `slice` in the same frame. A frame is queued whole or not at all.
  ///   - count: frames that `slice` is.
  ///   - defersFlush: it is sent with what comes next.
  ///   - isRecorded: it is to survive the death of the daemon if it must not be lost.
  ///   - wereBuffered: they are counted already, among those that are held.
  func enqueue(
    _ slice: ByteSlice, _ rest: ByteSlice? = nil, for connection: Connection, isNotification: Bool,
    count: Int = 1, defersFlush: Bool = false, isRecorded: Bool = true, wereBuffered: Bool = false
  ) {
    guard !connection.isWriteClosed, connection.isServed else {
      // What it misses is told to the connection that comes in its place.
      if connection.isDetached, isNotification {
        noteQueued(count, for: connection, wereBuffered: wereBuffered)
      }
      return
    }
    if slice.buffer.attachment != nil, !connection.takesFiles {
      guard let inlined = inlined(slice) else {
        tellLost(1, to: connection, wereBuffered: wereBuffered)
        return
      }
      return enqueue(
        inlined, rest, for: connection, isNotification: isNotification, wereBuffered: wereBuffered)
    }
    connection.queue.append(
      slice, isNotification: isNotification, count: rest == nil ? count : 0, copyingInto: queuePool)
    queuedByteCount += slice.weight
    if let rest {
      connection.queue.append(rest, isNotification: isNotification, copyingInto: queuePool)
      queuedByteCount += rest.count
    }
    if isNotification {
      noteQueued(count, for: connection, wereBuffered: wereBuffered)
    } else {
      logControlFrame(slice, rest, to: connection, isRecorded: isRecorded)
    }
    if defersFlush { deferFlush(connection) } else { scheduleFlush(connection) }
    if connection.queue.byteCount > softLimit {
      limitQueue(of: connection, isNotification: isNotification)
    }
    if queuedByteCount > relievedAbove { relieveQueues() }
  }

  func scheduleFlush(_ connection: Connection) {
    guard !connection.needsFlush else { return }
    connection.needsFlush = true
    iteration.toFlush.append(connection)
  }

  /// Has what was queued sent with what comes next for the connection, or in a millisecond. To be woken for news costs
  /// a client more than the news: a fifth of what an ask takes.
  private func deferFlush(_ connection: Connection) {
    guard !connection.isFlushDeferred else { return }
    connection.isFlushDeferred = true
    iteration.deferred.append(connection)
    guard !iteration.isAlarmSet else { return }
    iteration.isAlarmSet = true
    alarm.set(nanoseconds: Self.flushDelayNanoseconds)
  }

  /// Queues a frame of the bus's own.
  ///
  /// - Parameters:
  ///   - query: what it is news of, for monitors.
  ///   - defersFlush: it is sent with what comes next.
  ///   - isRecorded: it is to survive the death of the daemon.
  func say<F: FrameFields>(
    _ fields: F, to connection: Connection, serial: Serial, text: String = "", about query: QueryTail? = nil,
    defersFlush: Bool = false, isRecorded: Bool = true
  ) {
    let buffer = bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(fields, serial: serial, text: text)
    let slice = ByteSlice(buffer, start..<buffer.count)
    enqueue(slice, for: connection, isNotification: false, defersFlush: defersFlush, isRecorded: isRecorded)
    if bus.isMonitored { monitorControlFrame(slice, F.kind, query, to: connection) }
  }

  func refuse(_ connection: Connection, serial: Serial, _ error: WireError) {
    say(Refusal(error.code), to: connection, serial: serial, text: error.message)
  }

  func sendHello(to connection: Connection) {
    let buffer = bufferToEncode()
    let start = buffer.count
    Hello(capabilities: .descriptors).append(to: buffer)
    enqueue(ByteSlice(buffer, start..<buffer.count), for: connection, isNotification: false)
  }

  /// Where the next frame is encoded, behind what is there.
  ///
  /// What is long does not go on in a buffer that others are in: of a queue, one frame can be left that is begun, and
  /// that is not to keep in memory what was dropped behind it.
  ///
  /// - Parameter length: of the frame, if it can be long.
  func bufferToEncode(for length: Int = 0) -> ByteBuffer {
    if length > pool.bufferCapacity { return ByteBuffer(capacity: length) }
    let buffer = encodeBuffer
    // One that had to grow for something long is not gone on in.
    if buffer.capacity <= pool.bufferCapacity, buffer.capacity - buffer.count >= max(Self.encodeRoom, length)
    {
      return buffer
    }
    let fresh = pool.take()
    encodeBuffer = fresh
    return fresh
  }

  // MARK: Effects

  /// Carries out what the core wants sent.
  func carryOutEffects() {
    carryOutEffectsOnce()
    // Whoever is asked next may have no room for a question either.
    while !iteration.unsentQuestions.isEmpty {
      var unsent: [Question] = []
      swap(&iteration.unsentQuestions, &unsent)
      for question in unsent {
        let reason = "it has not read the questions before"
        recordFailure(of: question, reason: reason)
        bus.failQuestion(question.query, question.delegate, reason: reason, at: now)
      }
      carryOutEffectsOnce()
    }
  }

  private func carryOutEffectsOnce() {
    var effects: [Effect] = []
    swap(&iteration.effects, &effects)
    bus.takeEffects(&effects)
    for index in effects.indices {
      // Taken out of the array, so that nothing that it holds is copied.
      var effect = Effect.spent
      swap(&effect, &effects[index])
      carryOut(consume effect)
    }
    effects.removeAll(keepingCapacity: effects.capacity <= 1024)
    swap(&iteration.effects, &effects)
  }

  func carryOut(_ effect: consuming Effect) {
    switch consume effect {
    case .spent: preconditionFailure("an effect was carried out before")
    case .okay(let slot, let serial, let okay):
      say(okay, to: connection(at: slot), serial: serial)
    case .refusal(let slot, let serial, let error):
      refuse(connection(at: slot), serial: serial, error)
    case .question(let slot, let serial, let asker, let question, let tail):
      let delegate = connection(at: slot)
      guard hasRoom(forQuestionOf: tail.slice.count, delegate) else {
        iteration.unsentQuestions.append(question)
        return
      }
      let buffer = bufferToEncode()
      let start = buffer.count
      buffer.appendHead(
        of: question, sender: asker, serial: serial, nameLength: tail.nameLength,
        objectLength: tail.objectLength, payloadLength: tail.payloadLength)
      let isCopied = tail.slice.count <= Self.copiedTailLength
      if isCopied { buffer.append(tail.slice.bytes) }
      let slice = ByteSlice(buffer, start..<buffer.count)
      let rest = isCopied ? nil : tail.slice
      enqueue(slice, rest, for: delegate, isNotification: false)
      if bus.isMonitored { monitorQuestion(slice, rest, tail, from: asker, to: delegate.id) }
    case .progress(let slot, let serial, let progress, let status, let tail):
      let asker = connection(at: slot)
      // How it goes is news, which the next replaces: a delegate that defers without end must not be what an
      // asker that reads slowly is closed for.
      guard !asker.isBlocked || asker.queue.byteCount <= configuration.highMarkBytes else { return }
      say(progress, to: asker, serial: serial, text: status, about: tail)
    case .verdict(let slot, let serial, let decision, let tail):
      let asker = connection(at: slot)
      let buffer = bufferToEncode()
      let start = buffer.count
      buffer.appendFrame(decision.verdict, serial: serial)
      let slice = ByteSlice(buffer, start..<buffer.count)
      enqueue(slice, for: asker, isNotification: false)
      if bus.isMonitored { monitorVerdict(slice, tail, to: asker.id) }
      note(decision, of: tail)
      // A dry run has gone past nothing.
      if decision.verdict.isOverridden, !decision.verdict.isDryRun { announceOverride(decision, of: tail) }
    case .concluded(let slot, let serial, let concluded, let tail):
      say(concluded, to: connection(at: slot), serial: serial, about: tail, defersFlush: true)
    case .ended(let slot, let serial, let ended):
      say(ended, to: connection(at: slot), serial: serial)
    case .announcement(let announcement):
      announce(announcement)
    case .notification(let slice, let receivers, let poster):
      deliver(slice, to: receivers, from: poster)
    case .kept(let notification): record(kept: notification)
    case .forgotten(let name, let object): record(forgotten: name, object)
    case .waiting(let slice, let number, let poster, let uid):
      record(waiting: slice, number: number, from: poster, uid: uid)
    case .waitsNoMore(let number): record(waitsNoMore: number)
    case .held(let slot, let slices, let count, let lost):
      deliverBuffered(slices, lost: lost, to: connection(at: slot))
      statistics.delivered += count
    case .retained(let slot, let serial, let sender, let retained, let tail):
      deliver(retained, tail, from: sender, to: connection(at: slot), serial: serial)
    case .awaited(let slot, let serial, let awaited, let tail):
      say(awaited, to: connection(at: slot), serial: serial, about: tail)
    }
  }

  /// Whether a question can wait with what does already.
  ///
  /// Anybody can ask anything of any length: questions are not to be what a delegate is closed for, or an asker
  /// could rid itself of those that veto. They have half of the queue, so that how each ends has room behind
  /// them.
  private func hasRoom(forQuestionOf tailLength: Int, _ delegate: Connection) -> Bool {
    let waiting = delegate.queue.byteCount
    if waiting + tailLength + Self.encodeRoom <= configuration.hardLimitBytes / 2 { return true }
    // Who has read everything until now would have read what little has come since, if it had been sent.
    return waiting <= (delegate.isBlocked ? 0 : Self.promptLength)
  }

  func connection(at slot: ConnectionSlot) -> Connection {
    guard let connection = sessions[slot] else {
      preconditionFailure("the core speaks to slot \(slot.index), where nobody is")
    }
    return connection
  }

  // MARK: Writing

  /// Sends what waits, as far as the kernel takes it.
  func flush(_ connection: Connection) {
    precondition(!isInTransaction, "what an event causes is sent when all of it is written down")
    guard connection.phase != .closed else { return }
    var isEmpty = connection.queue.isEmpty
    var isFull = false
    var isRead = isEmpty
    var isFullOfFiles = false
    if !isEmpty { noteSending(to: connection) }
    while !isEmpty, !isFull {
      let file = connection.queue.nextFile
      if let file, !canPass(file, to: connection) {
        isFull = true
        isFullOfFiles = true
        continue
      }
      var offered = 0
      connection.queue.forEachUnsent { range, buffer in
        gather.append(range, of: buffer)
        offered += range.count
        return !gather.isFull
      }
      do throws(Errno) {
        let sent = try gather.send(to: connection.descriptor)
        isEmpty = connection.queue.consume(sent)
        isFull = sent < offered
        isRead = isRead || sent > 0
        queuedByteCount -= sent
        if let file, sent > 0 {
          connection.passedByteCount += file.length
          queuedByteCount -= file.length
        }
      } catch  where error == .tooManyPassed {
        isFull = true
        isFullOfFiles = true
      } catch {
        if !error.isDisconnection { log.warning("cannot write to connection \(connection.id): \(error)") }
        // What it sent before it went is still to be read; its end follows.
        connection.isWriteClosed = true
        queuedByteCount -= connection.queue.byteCount
        connection.queue.removeAll()
        isEmpty = true
      }
    }
    noteSent(to: connection)
    if isFull { connection.queue.settle(with: queuePool) }
    if isFullOfFiles { watchForRoomToPass(connection) }
    if connection.isBlocked != isFull || connection.isFullOfFiles != isFullOfFiles {
      connection.isBlocked = isFull
      connection.isFullOfFiles = isFullOfFiles
      updateInterest(of: connection)
    }
    // What was dropped alone brings no queue below the mark for good.
    if connection.flow != .flowing, isRead, connection.queue.byteCount <= configuration.lowMarkBytes {
      recover(connection)
    }
    if connection.phase == .closing, isEmpty { close(connection) }
  }
}
