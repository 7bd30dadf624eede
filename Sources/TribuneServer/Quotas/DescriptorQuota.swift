// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Limits the descriptors that clients pass: those that wait for the rest of their frames, in-flight files, and those
/// that are being closed.
final class DescriptorQuota {
  /// The most descriptors that wait for the rest of their frames, for one connection and for all.
  private static let waitingMax = 16
  private static let waitingInAllMax = 1024
  /// In-flight files of all users. One user may have as many as remain free for the others.
  static let filesMax = 1024
  /// The most unclosed descriptors of one user.
  private static let closingMax = 512

  private let accounts: Accounts
  private let closing = ClosingThreads()
  /// Descriptors that wait for the rest of their frames.
  private(set) var waitingCount = 0
  /// In-flight files of all users.
  let files = SharedCount()

  init(_ accounts: Accounts) { self.accounts = accounts }

  /// The account of the descriptors that a user has passed.
  func descriptors(of user: UInt32) -> UserDescriptors { accounts.account(of: user).descriptors }

  // MARK: Partial frames

  /// Counts the descriptors that no frame has taken after a read.
  ///
  /// - Throws: `unexpectedDescriptors`, `outOfMemory`.
  func countWaiting(of session: Session) throws(WireError) {
    let count = session.input.descriptors.count
    waitingCount += count - session.input.descriptorsCounted
    session.input.descriptorsCounted = count
    guard count > 0 else { return }
    guard session.input.partial != nil || session.input.deferred != nil, session.isOpen,
      count <= Self.waitingMax
    else { throw WireError(.unexpectedDescriptors, "descriptors came that belong to no frame") }
    guard waitingCount <= Self.waitingInAllMax else {
      throw WireError(.outOfMemory, "too many descriptors wait for their frames")
    }
  }

  /// Counts a descriptor that was handed over as part of a connection's input.
  func countRestored(of session: Session) {
    waitingCount += 1
    session.input.descriptorsCounted += 1
  }

  /// Closes the descriptors that no frame has taken.
  func releaseWaiting(of session: Session) {
    for descriptor in session.input.descriptors.releaseAll() {
      close(FileDescriptor(owning: descriptor), of: session.peer.uid)
    }
    waitingCount -= session.input.descriptorsCounted
    session.input.descriptorsCounted = 0
  }

  // MARK: Closing

  /// Closes a descriptor of a user without waiting.
  func close(_ descriptor: consuming FileDescriptor, of user: UInt32) {
    closing.close(descriptor, of: descriptors(of: user))
  }

  /// - Throws: `outOfMemory` if too many descriptors of the user are not closed yet.
  func requireClosed(of user: UInt32) throws(WireError) {
    let count = descriptors(of: user).unclosed.current
    guard count <= Self.closingMax else {
      throw WireError(.outOfMemory, "\(count) descriptors of user \(user) are still being closed")
    }
  }

  // MARK: In-flight files

  /// - Throws: `limitExceeded` if the user may have no more in-flight files.
  func requireFileQuota(of user: UserDescriptors) throws(WireError) {
    let count = user.inFlight.current
    guard count < Self.filesMax - files.current else {
      throw WireError(
        .limitExceeded,
        "user \(user.uid) has \(count.counted("undelivered file")), of \(files.current) in all")
    }
  }
}
