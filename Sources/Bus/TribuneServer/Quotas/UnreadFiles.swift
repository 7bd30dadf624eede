// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Limits the files that the bus has sent and clients have not received yet.
///
/// The kernel charges these files to the bus's user. Beyond this user's limit on open files, neither the bus
/// nor the keeper can send any descriptor. The bus therefore charges each file to its receiver's user. After
/// the end of a connection, the charge stays while the file is in the client's socket. All users together may
/// have half of the kernel's limit.
///
/// The kernel reports how much memory a socket uses, but not when a client reads. The bus therefore examines
/// a socket before it sends another file there. If a user reaches its share, the bus examines all sockets
/// with unread files.
final class UnreadFiles {
  private static let endedNanoseconds: UInt64 = 100_000_000
  /// A lower bound of the kernel memory that a frame in a socket uses, in bytes. Linux 6.18 uses 768.
  private static let frameMemory = 512

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
  private var sessions: [Session] = []
  private var ended: [Ended] = []
  private var nextExamination = Instant(nanoseconds: 0)
  private var tidyCount = 64
  private var isScheduled = false

  init(_ quota: DescriptorQuota, _ recorder: Recorder, _ context: ServerContext) {
    accounts = context.sessions.accounts
    (self.quota, self.recorder, self.context) = (quota, recorder, context)
  }

  // MARK: Sending

  /// Reserves half of a user's share for clients without unread files: slow clients must not use up the
  /// share. Also limits the total length of a client's unread files, because no queue counts a sent file any
  /// more, and the file still takes memory.
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
    recorder.markUnreadFiles(of: session)
    return true
  }

  private func hasShare(_ session: Session) -> Bool {
    let share = accounts.share(of: .unreadFiles, for: session.account)
    return session.account.use(of: .unreadFiles) < (session.output.unreadFiles.count == 0 ? share : share / 2)
  }

  func chargeSent(_ file: any AttachedFile, to session: Session) {
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
    recorder.clearUnreadFiles(of: session)
  }

  // MARK: Ending

  func remain(for session: Session) -> Bool {
    releaseIfReceived(session)
    return session.output.unreadFiles.count > 0
  }

  func end(_ socket: consuming FileDescriptor, of session: Session) {
    let count = session.output.unreadFiles.count
    session.output.unreadFiles.count = 0
    end(socket, of: session.account, count: count)
  }

  /// Charges the socket as a connection until its client has received the files.
  private func end(_ socket: consuming FileDescriptor, of account: UserAccount, count: Int) {
    UnixSocket.shutdown(socket)
    accounts.chargeUnclosedConnection(to: account)
    ended.append(Ended(socket, of: account, count: count))
    scheduleIfEnded()
  }

  // MARK: Restarting

  /// Charges the files that an earlier daemon has sent. Does not count their lengths, which are unknown.
  func restore(for session: Session) {
    let length = UnixSocket.unreadMemory(of: session.descriptor)
    guard length > 0 else { return recorder.clearUnreadFiles(of: session) }
    charge(restoredCount(length, of: session.account), to: session)
  }

  func endRestored(_ socket: consuming FileDescriptor, of account: UserAccount) {
    let count = restoredCount(UnixSocket.unreadMemory(of: socket), of: account)
    accounts.charge(count, of: .unreadFiles, to: account)
    end(socket, of: account, count: count)
  }

  /// The number of files to charge: as many as can be in the socket, but at most the rest of the user's
  /// share. A higher charge would leave less for other users. If the number is too low, the bus still stays
  /// below the kernel's limit, because all users together may have only half of that limit.
  ///
  /// - Parameter length: the socket's kernel memory in bytes.
  private func restoredCount(_ length: Int, of account: UserAccount) -> Int {
    let share = accounts.share(of: .unreadFiles, for: account)
    // A privileged user may use the whole rest of the total, which would be too high a charge here.
    let most = account.isPrivileged ? min(share, accounts.total(of: .unreadFiles) / 16) : share
    return max(
      1, min((length + Self.frameMemory - 1) / Self.frameMemory, most - account.use(of: .unreadFiles)))
  }

  // MARK: Examining

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
  /// The time between two examinations, in nanoseconds: at least 10 ms, and at least 15 µs for each socket.
  /// An examination takes about a hundredth of this time.
  static func examinationPeriod(count: Int) -> UInt64 { max(10_000_000, UInt64(count) * 15_000) }

  static func unreadMemory(of socket: borrowing FileDescriptor) -> Int {
    do throws(Errno) {
      return try unreceivedMemory(of: socket)
    } catch {
      preconditionFailure("cannot tell what is unread in a socket: \(error)")
    }
  }
}
