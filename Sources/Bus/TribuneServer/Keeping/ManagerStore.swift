// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem

/// Names of descriptors in the service manager's store.
enum StoredName: String {
  case log = "state"
  case lease
}

/// Stores the write-ahead log and one end of the lease with the service manager (sd_notify(3), `FDSTORE=1`).
/// The lease is a pair of sockets, and the keeper has its other end. Does not block.
///
/// If the manager will start the bus again, it keeps both descriptors. If the bus has finally ended, the
/// manager closes both.
final class ManagerStore {
  private static let retryNanoseconds: UInt64 = 100_000_000

  private let log: Log
  private let socket: ServiceSocket
  private var waiting: [(text: String, descriptor: CInt?, then: (Bool) -> Void)] = []
  private(set) var nextDue: Instant?

  static var isAvailable: Bool { ServiceSocket.isNamed }

  init(log: Log) throws(Errno) {
    self.log = log
    socket = try ServiceSocket()
  }

  func store(log: CInt) {
    remove(StoredName.log.rawValue)
    enqueue("FDSTORE=1\nFDNAME=\(StoredName.log.rawValue)\nFDPOLL=0", passing: log)
  }

  /// Stores the manager's end of the lease. The manager drops this end when the keeper's end is closed.
  ///
  /// - Parameter then: called with true when the message is sent, with false if sending has failed
  ///   permanently. A sent message reaches the manager even if this process ends.
  func store(lease: CInt, then: @escaping (Bool) -> Void = { _ in }) {
    enqueue("FDSTORE=1\nFDNAME=\(StoredName.lease.rawValue)", passing: lease, then: then)
  }

  func remove(_ name: String) { enqueue("FDSTOREREMOVE=1\nFDNAME=\(name)") }

  private func enqueue(
    _ text: String, passing descriptor: CInt? = nil, then: @escaping (Bool) -> Void = { _ in }
  ) {
    do throws(Errno) {
      let copy = try descriptor.map { d throws(Errno) in try FileDescriptor.duplicate(of: d).release() }
      waiting.append((text, copy, then))
    } catch {
      then(false)
      return log.warning("cannot duplicate a descriptor for the service manager: \(error)")
    }
    sendWaiting(at: Instant(nanoseconds: SystemClock.monotonicNanoseconds))
  }

  func tick(at now: Instant) {
    guard let nextDue, nextDue <= now else { return }
    sendWaiting(at: now)
  }

  private func sendWaiting(at now: Instant) {
    nextDue = nil
    while let (text, descriptor, then) = waiting.first {
      var isSent = true
      do throws(Errno) {
        try socket.send(text, waits: false, passing: descriptor)
      } catch {
        if error == .again || error.isOutOfResources || error == .tooManyPassed {
          nextDue = now.advanced(byNanoseconds: Self.retryNanoseconds)
          return
        }
        isSent = false
        log.warning("cannot store a descriptor at $NOTIFY_SOCKET: \(error)")
      }
      then(isSent)
      if let descriptor { FileDescriptor(owning: descriptor).close() }
      waiting.removeFirst()
    }
  }
}
