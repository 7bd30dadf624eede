// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Limits the files that were sent to clients and that these have not received yet.
///
/// The kernel counts them for the user of the bus, whoever is to receive them. Once there are as many as a process of that
/// user may open, none of its processes can send a descriptor: the bus no file, the keeper no connection. So each file is
/// charged to the user of its receiver, also after the bus has ended the connection, because the file is still in the
/// client's socket. All users together may have half of what the kernel allows.
///
/// The kernel says only how much of a socket's memory is in use, and no event says that a client has read. So sockets are
/// examined when their counts matter: one before another file is sent to it, and all of them when a user seems to have
/// its share. A file is released when its client has read everything.
final class UnreadFiles {
  /// How often the sockets of ended connections are examined, at least.
  private static let endedNanoseconds: UInt64 = 100_000_000
  /// Bytes of the kernel's memory for a frame, at least. Linux 6.18 takes 768.
  private static let frameMemory = 512

  /// A connection that the bus has ended, and whose client has files to receive.
  private final class Ended {
    var socket: FileDescriptor?
    let account: UserAccount
    let count: Int

    init(_ socket: consuming FileDescriptor, of account: UserAccount, count: Int) {
      (self.account, self.count) = (account, count)
      self.socket = consume socket
    }
  }

  private let quota: DescriptorQuota
  private let accounts: Accounts
  private let recorder: Recorder
  private let context: ServerContext
  /// Those with unread files, and some that have had some since the last examination.
  private var sessions: [Session] = []
  private var ended: [Ended] = []
  private var nextExamination = Instant(nanoseconds: 0)
  /// The number of sessions at which those without unread files are removed next.
  private var tidyCount = 64
  private var isScheduled = false

  init(_ quota: DescriptorQuota, _ accounts: Accounts, _ recorder: Recorder, _ context: ServerContext) {
    (self.quota, self.accounts, self.recorder, self.context) = (quota, accounts, recorder, context)
  }

  // MARK: Sending

  /// Whether a file can be sent to a client now.
  ///
  /// Half of a user's share is for clients that have received everything, so that some that do not read leave something to
  /// the others. The files for one client are limited by their length, too: a file that was sent counts in no queue, and
  /// takes the memory of its poster.
  func canSend(_ file: any AttachedFile, to session: Session) -> Bool {
    releaseIfReceived(session)
    let unread = session.output.unreadFiles
    guard
      unread.count == 0
        || unread.byteCount + file.length <= context.configuration.queue.hardLimitBytes
    else { return false }
    if !hasShare(session) {
      examineIfDue()
      guard hasShare(session) else { return false }
    }
    recorder.noteSendingFile(to: session)
    return true
  }

  private func hasShare(_ session: Session) -> Bool {
    let share = accounts.share(of: .unreadFiles, for: session.account)
    return session.account.use(of: .unreadFiles) < (session.output.unreadFiles.count == 0 ? share : share / 2)
  }

  func noteSent(_ file: any AttachedFile, to session: Session) {
    session.output.unreadFiles.byteCount += file.length
    charge(1, to: session)
  }

  private func charge(_ count: Int, to session: Session) {
    session.output.unreadFiles.count += count
    accounts.charge(count, of: .unreadFiles, to: session.account)
    guard !session.output.unreadFiles.isExamined else { return }
    session.output.unreadFiles.isExamined = true
    sessions.append(session)
    guard sessions.count >= tidyCount else { return }
    examine()
    tidyCount = max(64, 2 * sessions.count)
  }

  private func releaseIfReceived(_ session: Session) {
    let count = session.output.unreadFiles.count
    guard count > 0, UnixSocket.unreadMemory(of: session.descriptor) == 0 else { return }
    session.output.unreadFiles.count = 0
    session.output.unreadFiles.byteCount = 0
    accounts.charge(-count, of: .unreadFiles, to: session.account)
    recorder.noteFilesReceived(by: session)
  }

  // MARK: Ending

  /// Whether the client of a connection that ends has files to receive.
  func remain(for session: Session) -> Bool {
    releaseIfReceived(session)
    return session.output.unreadFiles.count > 0
  }

  /// Ends a connection whose client has files to receive.
  func end(_ socket: consuming FileDescriptor, of session: Session) {
    let count = session.output.unreadFiles.count
    session.output.unreadFiles.count = 0
    end(socket, of: session.account, count: count)
  }

  /// Shuts a socket, and closes it when its client has received the files. Until then, it counts as a connection.
  private func end(_ socket: consuming FileDescriptor, of account: UserAccount, count: Int) {
    UnixSocket.shutdown(socket)
    accounts.chargeUnclosedConnection(to: account)
    ended.append(Ended(socket, of: account, count: count))
    scheduleIfEnded()
  }

  // MARK: Restarting

  /// Charges the files that an earlier daemon sent to a client that has not read everything since. Their length is unknown.
  func restore(for session: Session) {
    let length = UnixSocket.unreadMemory(of: session.descriptor)
    guard length > 0 else { return recorder.noteFilesReceived(by: session) }
    charge(restoredCount(length, of: session.account), to: session)
  }

  /// Ends a connection over which an earlier daemon may have sent files.
  func endRestored(_ socket: consuming FileDescriptor, of account: UserAccount) {
    let count = restoredCount(UnixSocket.unreadMemory(of: socket), of: account)
    accounts.charge(count, of: .unreadFiles, to: account)
    end(socket, of: account, count: count)
  }

  /// About how many files are in a socket: the most that can be, up to what is left of the user's share, since what is
  /// charged beyond that would be missing to others. May undercount; the kernel's limit leaves slack.
  ///
  /// - Parameter length: bytes of the kernel's memory that the socket takes.
  private func restoredCount(_ length: Int, of account: UserAccount) -> Int {
    let share = accounts.share(of: .unreadFiles, for: account)
    // A privileged user's share is all that others leave.
    let most = account.isPrivileged ? min(share, accounts.total(of: .unreadFiles) / 16) : share
    return max(
      1, min((length + Self.frameMemory - 1) / Self.frameMemory, most - account.use(of: .unreadFiles)))
  }

  // MARK: Examining

  /// Releases what clients have received, if the last time was long enough ago.
  func examineIfDue() {
    if nextExamination <= context.now { examine() }
  }

  private func examine() {
    nextExamination = context.now.advanced(
      byNanoseconds: UnixSocket.examinationPeriod(count: sessions.count + ended.count))
    sessions.removeAll { session in
      releaseIfReceived(session)
      session.output.unreadFiles.isExamined = session.output.unreadFiles.count > 0
      return !session.output.unreadFiles.isExamined
    }
    ended.removeAll(where: closeIfReceived)
  }

  /// The time to examine ended connections has come.
  func examineEnded() {
    isScheduled = false
    examineIfDue()
    scheduleIfEnded()
  }

  private func scheduleIfEnded() {
    guard !isScheduled, !ended.isEmpty else { return }
    isScheduled = true
    context.schedule(.files, .mainQueue, afterNanoseconds: Self.endedNanoseconds)
  }

  private func closeIfReceived(_ connection: Ended) -> Bool {
    guard let socket = connection.socket.take() else { return true }
    guard UnixSocket.unreadMemory(of: socket) == 0 else {
      connection.socket = consume socket
      return false
    }
    accounts.charge(-connection.count, of: .unreadFiles, to: connection.account)
    quota.closeCharged(socket, of: connection.account)
    return true
  }
}

extension UnixSocket {
  /// How often sockets are examined for unread bytes, at most, in nanoseconds: 10 ms, or 15 µs for each if that is more.
  /// Examining one takes about a hundredth of that.
  static func examinationPeriod(count: Int) -> UInt64 { max(10_000_000, UInt64(count) * 15_000) }

  /// Bytes of the kernel's memory with what the peer of one of the bus's sockets has not read.
  static func unreadMemory(of socket: borrowing FileDescriptor) -> Int {
    do throws(Errno) {
      return try unreceivedMemory(of: socket)
    } catch {
      preconditionFailure("cannot tell what is unread in a socket: \(error)")
    }
  }
}
