// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

extension Sender {
  /// The delay before sending again, if the kernel lacks resources or the user has too many unread files.
  private static let retryNanoseconds: UInt64 = 10_000_000
  /// The delay for a lossy observer. It is longer, because such an observer possibly never reads its files.
  private static let retryLossyNanoseconds: UInt64 = 250_000_000

  /// Takes sessions in the order of scheduling. An asker thus usually gets its verdict before the delegates
  /// learn that the query has ended.
  func takeScheduled() -> Session? {
    guard takenCount < scheduled.value.count else {
      takenCount = 0
      scheduled.value.removeOneByOne()
      return nil
    }
    takenCount += 1
    let session = scheduled.value[takenCount - 1]
    session.output.flush = .none
    return session
  }

  func postpone(_ session: Session) {
    session.output.flush = .scheduled
    postponed.value.append(session)
  }

  @inline(__always) var hasPostponed: Bool { !postponed.value.isEmpty }

  func schedulePostponed() {
    scheduled.value.insert(contentsOf: postponed.value, at: 0)
    postponed.value = []
  }

  func flush(_ session: Session) {
    precondition(!recorder.hasOpenTransaction, "no queue may be flushed within a transaction")
    guard !session.isClosed else { return }
    if session.output.flush == .deferred { session.output.flush = .none }
    var isRead = session.output.queue.isEmpty
    var writing: Output.Writing = session.output.writing == .closed ? .closed : .open
    if session.speaksVarlink, let varlink = session.varlink {
      if writing == .open { writing = sendReplies(of: session, varlink, &isRead) }
    } else {
      if !session.output.queue.isEmpty { recorder.markSending(to: session) }
      while writing == .open, !session.output.queue.isEmpty { writing = sendPart(of: session, &isRead) }
    }
    recorder.storeSent(to: session)
    chargeQueue(of: session)
    if writing == .stalled { scheduleRetry(of: session) }
    if session.output.writing != writing {
      session.output.writing = writing
      loop.updateInterest(of: session)
    }
    if session.output.queue.isEmpty, !session.output.questionSpace.isEmpty {
      session.output.questionSpace = QuestionSpace()
    }
    if session.output.isBlocked { session.output.queue.consolidate(with: queuePool) }
    if !session.output.backlog.isEmpty { goOn(with: session) }
    if writing == .closed { endPacing(of: session) }
    // Drops alone are not a recovery: the client must have read something.
    if !session.pacing.isFlowing, isRead,
      session.output.unreadByteCount <= context.configuration.queue.lowMarkBytes
    {
      recover(session)
    }
    if session.output.holdsInput { takeInputAgain(from: session) }
    if session.isClosing, session.output.queue.isEmpty { sessions.closeLater(session) }
  }

  private func goOn(with session: Session) {
    session.output.backlog.consolidate(with: queuePool)
    // If the bus ends the connection, it must send the frame with the reason last, so it sends no backlog.
    guard session.isServed, session.output.writing == .open,
      session.output.queue.byteCount <= context.configuration.queue.lowMarkBytes
    else { return }
    // Even if the client accepts no notifications, `refill` moves the `lost` frame of a dropped snapshot.
    refill(session)
    if !session.output.queue.isEmpty { scheduleFlush(session) }
    guard session.output.backlog.first?.snapshot != nil, session.output.grantedRoom > 0,
      !session.output.isSnapshotDue
    else { return }
    session.output.isSnapshotDue = true
    snapshotsDue.value.append(session)
  }

  /// - Parameter isRead: set to true if the kernel takes bytes. A slow client has then read some bytes.
  @inline(__always) private func sendPart(of session: Session, _ isRead: inout Bool) -> Output.Writing {
    let file = session.output.queue.nextFile
    if let file, !unreadFiles.canSend(file, to: session) { return .stalled }
    var offered = 0
    session.output.queue.forEachUnsent { range, buffer in
      gather.append(range, of: buffer)
      offered += range.count
      return !gather.isFull
    }
    do throws(Errno) {
      let sent = try gather.send(to: session.descriptor)
      session.output.queue.consume(sent)
      session.output.sentByteCount &+= UInt64(sent)
      isRead = isRead || sent > 0
      queuedByteCount -= sent
      if let file, sent > 0 {
        unreadFiles.chargeSent(file, to: session)
        queuedByteCount -= file.length
      }
      return sent < offered ? .full : .open
    } catch {
      return writing(after: error, to: session)
    }
  }

  func writing(after error: Errno, to session: Session) -> Output.Writing {
    if error == .tooManyPassed || error.isOutOfResources { return .stalled }
    removeQueue(of: session)
    if !error.isDisconnection {
      context.log.warning("cannot write to connection \(session.id): \(error)")
      sessions.closeLater(session)
    }
    return .closed
  }

  func removeQueue(of session: Session) {
    session.varlink?.reply = nil
    changeOutput(of: session) { output in
      output.queue.removeAll()
      output.backlog.removeAll()
      output.updateRoom()
    }
  }

  // MARK: Retrying

  private func scheduleRetry(of session: Session) {
    guard !session.output.isRetryScheduled else { return }
    session.output.isRetryScheduled = true
    context.schedule(
      .retry, session.token,
      afterNanoseconds: session.pacing.isLossy ? Self.retryLossyNanoseconds : Self.retryNanoseconds)
  }

  func retry(_ session: Session) {
    session.output.isRetryScheduled = false
    scheduleFlush(session)
  }

  func write(_ buffer: ByteBuffer, to socket: borrowing FileDescriptor) throws(Errno) {
    gather.append(0..<buffer.count, of: buffer)
    _ = try gather.send(to: socket)
  }
}

extension EventLoop {
  func updateInterest(of session: Session) {
    guard !session.isClosed else { return }
    do throws(Errno) {
      try modify(session.descriptor.rawValue, for: session.interest, token: session.token)
    } catch {
      preconditionFailure("cannot watch connection \(session.id): \(error)")
    }
  }
}
