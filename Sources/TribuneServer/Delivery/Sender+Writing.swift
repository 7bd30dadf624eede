// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

extension Sender {
  /// After how long an observer is looked at again that has not taken the files that it was sent. A lossy one may never
  /// take them.
  private static let passNanoseconds: UInt64 = 10_000_000
  private static let passLossyNanoseconds: UInt64 = 250_000_000

  /// Sends what is queued, in the order in which connections were spoken to: an asker has its verdict before its
  /// delegates hear how it ended.
  func flushScheduled() {
    var next = 0
    while next < scheduled.value.count {
      let connection = scheduled.value[next]
      connection.needsFlush = false
      flush(connection)
      next += 1
    }
    scheduled.value.removeAll(keepingCapacity: true)
  }

  /// Sends what waits, as far as the kernel takes it.
  func flush(_ connection: Connection) {
    precondition(!recorder.isInTransaction, "something is sent before all of its transaction is committed")
    guard connection.phase != .closed else { return }
    var isEmpty = connection.queue.isEmpty
    var isFull = false
    var isRead = isEmpty
    var isFullOfFiles = false
    if !isEmpty { recorder.noteSending(to: connection) }
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
        if !error.isDisconnection {
          context.log.warning("cannot write to connection \(connection.id): \(error)")
        }
        // What it sent before it went is still to be read; its end follows.
        connection.isWriteClosed = true
        removeQueue(of: connection)
        isEmpty = true
      }
    }
    recorder.noteSent(to: connection)
    if isFull { connection.queue.settle(with: queuePool) }
    if isFullOfFiles { watchForSpaceToPass(connection) }
    if connection.isBlocked != isFull || connection.isFullOfFiles != isFullOfFiles {
      connection.isBlocked = isFull
      connection.isFullOfFiles = isFullOfFiles
      loop.updateInterest(of: connection)
    }
    // What was dropped alone brings no queue below the mark for good.
    if connection.flow != .flowing, isRead,
      connection.queue.byteCount <= context.configuration.lowMarkBytes
    {
      recover(connection)
    }
    if connection.phase == .closing, isEmpty { sessions.ending.value.append(connection) }
  }

  func removeQueue(of connection: Connection) { changeQueue(of: connection) { queue in queue.removeAll() } }

  // MARK: Files

  /// Whether a file can be sent to an observer now.
  ///
  /// A file that an observer was sent and has not taken counts in no queue, and is the memory of its poster; the kernel
  /// would let hundreds of files wait for an observer that never reads.
  private func canPass(_ file: any AttachedFile, to connection: Connection) -> Bool {
    guard connection.passedByteCount > 0,
      connection.passedByteCount + file.length > context.configuration.hardLimitBytes
    else { return true }
    do throws(Errno) {
      guard try UnixSocket.isDrained(connection.descriptor) else { return false }
    } catch {
      preconditionFailure("a socket does not say what has been read of it: \(error)")
    }
    connection.passedByteCount = 0
    return true
  }

  /// Looks again at an observer that cannot be sent a file now: no event tells when it can.
  private func watchForSpaceToPass(_ connection: Connection) {
    guard !connection.isWatchedForRoomToPass else { return }
    connection.isWatchedForRoomToPass = true
    context.schedule(
      .pass, connection.token,
      afterNanoseconds: connection.flow == .lossy ? Self.passLossyNanoseconds : Self.passNanoseconds)
  }

  func checkSpaceToPass(of connection: Connection) {
    connection.isWatchedForRoomToPass = false
    scheduleFlush(connection)
  }
}

extension EventLoop {
  /// Changes what a connection is watched for.
  func updateInterest(of connection: Connection) {
    guard connection.phase != .closed, !connection.isDetached else { return }
    do throws(Errno) {
      try modify(connection.descriptor.rawValue, for: connection.interest, token: connection.token)
    } catch {
      preconditionFailure("cannot watch connection \(connection.id): \(error)")
    }
  }
}
