// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Bounds what clients pass as descriptors: those that wait for the rest of their frames, files in flight, and those that
/// are being closed.
final class DescriptorQuota {
  /// Descriptors that may wait for the rest of their frames, of one connection and of all.
  private static let waitingMax = 16
  private static let waitingInAllMax = 1024
  /// Files in flight, of all users. One user may have as many as are left for the others.
  static let filesMax = 1024
  /// Descriptors of one user that may be waiting to be closed.
  private static let closingMax = 512

  private let closing = ClosingThreads()
  /// Descriptors that wait for the rest of their frames.
  private(set) var waitingCount = 0
  /// Files in flight.
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

  /// Closes what a user has passed, without waiting for it.
  func close(_ descriptor: consuming FileDescriptor, of user: UInt32) { closing.close(descriptor, of: user) }

  /// - Throws: `outOfMemory` when a user has passed so many descriptors that are not closed yet that no more are to come.
  func requireClosed(of user: UInt32) throws(WireError) {
    let count = closing.count(of: user)
    guard count <= Self.closingMax else {
      throw WireError(
        .outOfMemory, "\(count) descriptors that user \(user) has passed take long to be closed")
    }
  }

  // MARK: Files in flight

  func files(of user: UInt32) -> InFlightFile.Count {
    if let count = filesByUser[user] { return count }
    filesByUser = filesByUser.filter { $0.value.current > 0 }
    let count = InFlightFile.Count()
    filesByUser[user] = count
    return count
  }

  /// - Throws: `limitExceeded` when a user may have no more files in flight.
  func requireFileQuota(of user: UInt32, having count: InFlightFile.Count) throws(WireError) {
    guard count.current < Self.filesMax - files.current else {
      throw WireError(
        .limitExceeded,
        "\(count.current.counted("file")) of user \(user) \(count.current == 1 ? "is" : "are") not delivered yet, "
          + "of \(files.current) in all")
    }
  }
}
