// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Limits the descriptors that clients pass: those that wait for the rest of their frames, in-flight files, and those
/// that are being closed.
final class DescriptorQuota {
  /// The most descriptors of one connection that wait for the rest of their frames.
  private static let waitingMax = 16
  /// The most unclosed descriptors of one user.
  private static let closingMax = 512

  private let accounts: Accounts
  private let closing: ClosingThreads

  init(_ accounts: Accounts, _ closing: ClosingThreads = ClosingThreads()) {
    (self.accounts, self.closing) = (accounts, closing)
  }

  /// The account of the descriptors that a user has passed.
  func descriptors(of user: UInt32) -> UserDescriptors { accounts.account(of: user).descriptors }

  /// Descriptors under way, of all users.
  var heldCount: Int {
    accounts.countDescriptors()
    return accounts.used(.descriptors)
  }

  // MARK: Partial frames

  /// Counts the descriptors that no frame has taken after a read.
  ///
  /// - Throws: `unexpectedDescriptors`, `outOfMemory`.
  func countWaiting(of session: Session) throws(WireError) {
    let count = session.input.descriptors.count
    let isMore = count > session.input.descriptorsCounted
    session.account.descriptors.held.change(by: count - session.input.descriptorsCounted)
    session.input.descriptorsCounted = count
    guard count > 0 else { return }
    guard session.input.partial != nil || session.input.deferred != nil, session.isOpen,
      count <= Self.waitingMax
    else { throw WireError(.unexpectedDescriptors, "descriptors came that belong to no frame") }
    guard isMore else { return }
    // They are counted already.
    do throws(WireError) {
      try accounts.requireDescriptors(0, of: session.account)
    } catch {
      throw WireError(.outOfMemory, error.message)
    }
  }

  /// Counts a descriptor that was handed over as part of a connection's input.
  func countRestored(of session: Session) {
    session.account.descriptors.held.change(by: 1)
    session.input.descriptorsCounted += 1
  }

  /// Closes the descriptors that no frame has taken.
  func releaseWaiting(of session: Session) {
    for descriptor in session.input.descriptors.releaseAll() {
      close(FileDescriptor(owning: descriptor), of: session.account.descriptors)
    }
    session.account.descriptors.held.change(by: -session.input.descriptorsCounted)
    session.input.descriptorsCounted = 0
  }

  // MARK: Closing

  /// Closes a connection on a thread. It still counts as one for its user until it is closed.
  func closeConnection(_ socket: consuming FileDescriptor, of account: UserAccount) {
    accounts.chargeUnclosedConnection(to: account)
    closing.close(socket, of: account.descriptors, isChargedConnection: true)
  }

  /// Closes a connection that was shut down and charged with `chargeUnclosedConnection`, and releases the charge: at once if
  /// closing it takes no time, or when a thread has closed it.
  func closeCharged(_ socket: consuming FileDescriptor, of account: UserAccount) {
    guard !UnixSocket.canHaveUnreadDescriptors(socket) else {
      return closing.close(socket, of: account.descriptors, isChargedConnection: true)
    }
    socket.close()
    account.descriptors.unclosedConnections.change(by: -1)
    accounts.countConnections()
  }

  /// Closes a descriptor of a user without waiting.
  func close(_ descriptor: consuming FileDescriptor, of user: UserDescriptors) {
    closing.close(descriptor, of: user)
  }

  /// - Throws: `outOfMemory` if too many descriptors of the user are not closed yet.
  func requireClosed(of user: UserDescriptors) throws(WireError) {
    let count = user.unclosed.current
    guard count <= Self.closingMax else {
      throw WireError(.outOfMemory, "\(count) descriptors of user \(user.uid) are still being closed")
    }
  }

  // MARK: In-flight files

  /// - Throws: `limitExceeded` if the user may have no more in-flight files.
  func requireFileQuota(of account: UserAccount) throws(WireError) {
    try accounts.requireDescriptors(1, of: account)
  }
}
