// SPDX-License-Identifier: Apache-2.0

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

  private let closing = ClosingThreads()
  /// Descriptors that wait for the rest of their frames.
  private(set) var waitingCount = 0
  /// In-flight files of all users.
  let files = InFlightFile.Count()
  private var filesByUser: [UInt32: InFlightFile.Count] = [:]

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
    else {
      throw WireError(.unexpectedDescriptors, "descriptors came that no frame takes")
    }
    guard waitingCount <= Self.waitingInAllMax else {
      throw WireError(.outOfMemory, "there is no room for another descriptor that waits for its frame")
    }
  }

  /// Counts a descriptor that a connection had when it was handed over.
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
  func close(_ descriptor: consuming FileDescriptor, of user: UInt32) { closing.close(descriptor, of: user) }

  /// - Throws: `outOfMemory` if too many descriptors of the user are not closed yet.
  func requireClosed(of user: UInt32) throws(WireError) {
    let count = closing.count(of: user)
    guard count <= Self.closingMax else {
      throw WireError(
        .outOfMemory, "\(count) descriptors that user \(user) has passed take long to be closed")
    }
  }

  // MARK: In-flight files

  func files(of user: UInt32) -> InFlightFile.Count {
    if let count = filesByUser[user] { return count }
    filesByUser = filesByUser.filter { $0.value.current > 0 }
    let count = InFlightFile.Count()
    filesByUser[user] = count
    return count
  }

  /// - Throws: `limitExceeded` if the user may have no more in-flight files.
  func requireFileQuota(of user: UInt32, having count: InFlightFile.Count) throws(WireError) {
    guard count.current < Self.filesMax - files.current else {
      throw WireError(
        .limitExceeded,
        "\(count.current.counted("file")) of user \(user) \(count.current == 1 ? "is" : "are") not delivered yet, "
          + "of \(files.current) in all")
    }
  }
}
