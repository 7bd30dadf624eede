// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Limits the descriptors from clients: those of partial frames, those of posts that receivers still need,
/// and those that threads have not closed yet.
final class DescriptorQuota {
  private static let waitingMax = 16
  private static let closingMax = 512

  private let accounts: Accounts
  private let closing: ClosingThreads

  init(_ accounts: Accounts, _ closing: ClosingThreads = ClosingThreads()) {
    (self.accounts, self.closing) = (accounts, closing)
  }

  func descriptors(of user: UInt32) -> UserDescriptors { accounts.account(of: user).descriptors }

  var heldCount: Int {
    accounts.countDescriptors()
    return accounts.used(.descriptors)
  }

  // MARK: Partial frames

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
    // Require space for 0 more descriptors, because the account already includes these.
    do throws(WireError) {
      try accounts.requireDescriptors(0, of: session.account)
    } catch {
      throw WireError(.outOfMemory, error.message)
    }
  }

  func countRestored(of session: Session) {
    session.account.descriptors.held.change(by: 1)
    session.input.descriptorsCounted += 1
  }

  func releaseWaiting(of session: Session) {
    for descriptor in session.input.descriptors.releaseAll() {
      close(FileDescriptor(owning: descriptor), of: session.account.descriptors)
    }
    session.account.descriptors.held.change(by: -session.input.descriptorsCounted)
    session.input.descriptorsCounted = 0
  }

  // MARK: Closing

  /// Charges the connection to its user until a thread has closed the socket.
  func closeConnection(_ socket: consuming FileDescriptor, of account: UserAccount) {
    accounts.chargeUnclosedConnection(to: account)
    closing.close(socket, of: account.descriptors, isChargedConnection: true)
  }

  /// Closes a socket for which `Accounts.chargeUnclosedConnection` was called, then releases that charge.
  /// Uses a thread only if closing can take long.
  func closeCharged(_ socket: consuming FileDescriptor, of account: UserAccount) {
    guard !UnixSocket.canHaveUnreadDescriptors(socket) else {
      return closing.close(socket, of: account.descriptors, isChargedConnection: true)
    }
    socket.close()
    account.descriptors.unclosedConnections.change(by: -1)
    accounts.countConnections()
  }

  func close(_ descriptor: consuming FileDescriptor, of user: UserDescriptors) {
    closing.close(descriptor, of: user)
  }

  func requireClosed(of user: UserDescriptors) throws(WireError) {
    let count = user.unclosed.current
    guard count <= Self.closingMax else {
      throw WireError(.outOfMemory, "\(count) descriptors of user \(user.uid) are still being closed")
    }
  }

  // MARK: In-flight files

  func requireFileQuota(of account: UserAccount) throws(WireError) {
    try accounts.requireDescriptors(1, of: account)
  }
}
