// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

extension Sender {
  /// Delay before an observer that has not taken its files is checked again. A lossy one may never take them.
  private static let passNanoseconds: UInt64 = 10_000_000
  private static let passLossyNanoseconds: UInt64 = 250_000_000

  /// Takes the session whose queue is to be flushed next, in the order in which they were scheduled: an asker has its
  /// verdict before its delegates learn how the query ended.
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

  /// Sends a connection's queue, as far as the kernel takes it.
  func flush(_ session: Session) {
    precondition(!recorder.isInTransaction, "no queue may be flushed within a transaction")
    guard !session.isClosed else { return }
    if session.output.flush == .deferred { session.output.flush = .none }
    var isEmpty = session.output.queue.isEmpty
    var isFull = false
    var isRead = isEmpty
    var isFullOfFiles = false
    var isClosed = session.output.writing == .closed
    if !isEmpty { recorder.noteSending(to: session) }
    while !isEmpty, !isFull {
      let file = session.output.queue.nextFile
      if let file, !canPass(file, to: session) {
        isFull = true
        isFullOfFiles = true
        continue
      }
      var offered = 0
      session.output.queue.forEachUnsent { range, buffer in
        gather.append(range, of: buffer)
        offered += range.count
        return !gather.isFull
      }
      do throws(Errno) {
        let sent = try gather.send(to: session.descriptor)
        isEmpty = session.output.queue.consume(sent)
        isFull = sent < offered
        isRead = isRead || sent > 0
        queuedByteCount -= sent
        if let file, sent > 0 {
          session.output.passedByteCount += file.length
          queuedByteCount -= file.length
        }
      } catch  where error == .tooManyPassed {
        isFull = true
        isFullOfFiles = true
      } catch {
        if !error.isDisconnection {
          context.log.warning("cannot write to connection \(session.id): \(error)")
        }
        // The frames that the client sent before it went are still to be read; its end follows.
        removeQueue(of: session)
        isClosed = true
        isEmpty = true
      }
    }
    recorder.noteSent(to: session)
    if isFull { session.output.queue.settle(with: queuePool) }
    if isFullOfFiles { watchForSpaceToPass(session) }
    let writing: Output.Writing = isClosed ? .closed : isFullOfFiles ? .fullOfFiles : isFull ? .full : .open
    if session.output.writing != writing {
      session.output.writing = writing
      loop.updateInterest(of: session)
    }
    if isClosed { endPacing(of: session) }
    // If dropping alone brought the queue below the mark, it does not stay there: the client must have read something.
    if !session.pacing.isFlowing, isRead,
      session.output.queue.byteCount <= context.configuration.queue.lowMarkBytes
    {
      recover(session)
    }
    if session.isClosing, isEmpty { sessions.ending.value.append((session, nil)) }
  }

  func removeQueue(of session: Session) { changeQueue(of: session) { queue in queue.removeAll() } }

  // MARK: Files

  /// Whether a file can be sent to an observer now.
  ///
  /// A file that was sent and that the observer has not taken counts in no queue, and takes the memory of its poster.
  /// The kernel would let hundreds of files wait for an observer that never reads.
  private func canPass(_ file: any AttachedFile, to session: Session) -> Bool {
    guard session.output.passedByteCount > 0,
      session.output.passedByteCount + file.length > context.configuration.queue.hardLimitBytes
    else { return true }
    do throws(Errno) {
      guard try UnixSocket.isDrained(session.descriptor) else { return false }
    } catch {
      preconditionFailure("cannot tell whether a socket is drained: \(error)")
    }
    session.output.passedByteCount = 0
    return true
  }

  /// Schedules another check of an observer that cannot be sent a file now: no event reports when it can.
  private func watchForSpaceToPass(_ session: Session) {
    guard !session.output.isWatchedForSpaceToPass else { return }
    session.output.isWatchedForSpaceToPass = true
    context.schedule(
      .pass, session.token,
      afterNanoseconds: session.pacing.isLossy ? Self.passLossyNanoseconds : Self.passNanoseconds)
  }

  func checkSpaceToPass(of session: Session) {
    session.output.isWatchedForSpaceToPass = false
    scheduleFlush(session)
  }

  /// Writes a buffer to a socket that has no queue, as far as the kernel takes it at once.
  func write(_ buffer: ByteBuffer, to socket: borrowing FileDescriptor) throws(Errno) {
    gather.append(0..<buffer.count, of: buffer)
    _ = try gather.send(to: socket)
  }
}

extension EventLoop {
  /// Updates the events for which a connection is watched.
  func updateInterest(of session: Session) {
    guard !session.isClosed else { return }
    do throws(Errno) {
      try modify(session.descriptor.rawValue, for: session.interest, token: session.token)
    } catch {
      preconditionFailure("cannot watch connection \(session.id): \(error)")
    }
  }
}
