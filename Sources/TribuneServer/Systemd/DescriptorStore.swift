// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneSystem
import TribuneWire

/// The descriptors that the service manager keeps for the daemon and passes to the next daemon after this one has
/// ended for any reason (systemd.service(5), `FileDescriptorStoreMax=`; sd_notify(3), `FDSTORE=1`).
///
/// The store holds the write-ahead log, the clients' connections, and memory files. The manager does not reply: it
/// does not report that the store is full. So the contents are counted here, and what does not fit is refused.
///
/// A manager can be slow, and a sender blocks while its socket is full. The bus must not block, so it only queues a
/// copy of the descriptor, which a thread sends (`DescriptorSender`).
///
/// The manager drops a connection by itself once it has hung up, as it has after shutdown(2) on either side. It drops
/// other descriptors on request.
package final class DescriptorStore {
  /// The most descriptors that the manager keeps.
  package let capacity: Int
  /// Descriptors that are in the store, or on their way to it.
  package private(set) var count: Int
  /// Whether the manager cannot be reached any more. What it does not have yet, it will not get.
  package private(set) var hasFailed = false

  /// Slots that connections leave free for what is stored during a handover.
  nonisolated package static let handOverRoom = 2

  /// The kernel's limit for an environment variable, less room for its name and the names of listening sockets.
  static let namesLengthMax = 128 << 10 - 1 << 10 - 4 << 10

  private let log: Log
  private let sender: DescriptorSender
  private let hasThread: Bool
  /// Bytes of all names.
  private var namesLength: Int
  private var stateCount: Int
  /// Whether a write-ahead log is stored, or on its way. Without one, nothing else in the store is of use.
  package var hasState: Bool { stateCount > 0 && !hasFailed }
  private var lastFile: UInt64

  /// Connects to the store, if there is one.
  ///
  /// Descriptors that were passed from the store are still in it, and count. Foreign ones are removed.
  ///
  /// - Parameter hasThread: false if the caller sends what is queued (`sendWaiting`).
  /// - Returns: nil if no manager keeps descriptors, or the store cannot be used; with a manager, this is logged.
  package init?(log: Log, holding passed: PassedAtStart = PassedAtStart(), hasThread: Bool = true) {
    guard Environment.nonEmptyValue(of: "NOTIFY_SOCKET") != nil else { return nil }
    guard let capacity = Self.offeredCapacity else {
      log.notice(
        """
        the service manager keeps no descriptors, and no connection survives a restart: the service has no \
        FileDescriptorStoreMax=, or not the same number in $TRIBUNE_FDSTORE (before systemd 254)
        """)
      return nil
    }
    do throws(Errno) {
      sender = try DescriptorSender(capacity: capacity, held: passed.storedCount)
    } catch {
      log.error("the service manager's store cannot be used, and no connection survives a restart: \(error)")
      return nil
    }
    self.log = log
    self.capacity = capacity
    self.hasThread = hasThread
    count = passed.storedCount
    namesLength = passed.namesLength
    stateCount = passed.stateCount
    lastFile = passed.lastFile
    if hasThread { start() }
    remove(passed.foreign, of: passed)
  }

  deinit { sender.end() }

  private func start() {
    do throws(Errno) {
      try sender.start { [weak self] error in
        DispatchQueue.main.async { MainActor.assumeIsolated { self?.fail(error) } }
      }
    } catch {
      fail(error)
    }
  }

  /// How many descriptors the manager keeps for this process. systemd 254 and later says so; before that, the unit
  /// must.
  nonisolated package static var offeredCapacity: Int? {
    guard
      let text = Environment.nonEmptyValue(of: "FDSTORE") ?? Environment.nonEmptyValue(of: "TRIBUNE_FDSTORE"),
      let capacity = Int(text), capacity > 0
    else { return nil }
    return capacity
  }

  // MARK: Storing and removing

  /// Queues a copy of the descriptor for the store. Does not wait.
  ///
  /// A write-ahead log goes ahead of everything else that is queued. Descriptors passed from the store are still in
  /// it: do not store them again.
  ///
  /// - Returns: whether it will be stored: not if the store is full or has failed, or if no copy can be made.
  package func store(_ descriptor: borrowing FileDescriptor, as name: StoredName) -> Bool {
    guard !hasFailed, count < capacity, namesLength + name.listedLength <= Self.namesLengthMax else {
      return false
    }
    do throws(Errno) {
      sender.store(try descriptor.duplicate(), of: descriptor.rawValue, as: name)
    } catch {
      log.debug("a descriptor cannot be stored: \(error)")
      return false
    }
    change(by: 1, name)
    if name == .state { stateCount += 1 }
    return true
  }

  /// Stores a copy of a file's descriptor under a name that no other file has.
  ///
  /// - Returns: the file's number; nil where `store(_:as:)` returns false.
  package func store(file descriptor: borrowing FileDescriptor) -> UInt64? {
    guard store(descriptor, as: .file(lastFile + 1)) else { return nil }
    lastFile += 1
    return lastFile
  }

  /// Forgets a stored connection that has hung up, or is about to be shut down. Its descriptor is still open.
  package func forget(connection descriptor: borrowing FileDescriptor) {
    change(by: -1, .connection)
    sender.forget(connection: descriptor.rawValue)
  }

  /// Removes a stored file.
  package func remove(file number: UInt64) {
    change(by: -1, .file(number))
    sender.remove(file: number)
  }

  /// Removes every write-ahead log that was stored so far.
  package func removeState() {
    guard stateCount > 0 else { return }
    change(by: -stateCount, .state)
    sender.removeState(count: stateCount)
    stateCount = 0
  }

  private func change(by difference: Int, _ name: StoredName) {
    count += difference
    namesLength += difference * name.listedLength
    precondition(count >= 0, "more is taken out of the store than was in it")
  }

  private func remove(_ foreign: [PassedAtStart.Foreign], of passed: PassedAtStart) {
    guard !foreign.isEmpty else { return }
    var counts: [String: Int] = [:]
    for one in foreign where !passed.isInUse(one.name) { counts[one.name, default: 0] += 1 }
    for (name, number) in counts {
      count -= number
      namesLength -= number * (name.utf8.count + 1)
      sender.remove(named: name, count: number)
    }
    let told = foreign.prefix(10).map { "\"\($0.name.escaped)\" (\($0.flaw))" }.joined(separator: ", ")
    log.warning(
      "what is not the bus's was in the service manager's store: \(told)"
        + (foreign.count > 10 ? " and \(foreign.count - 10) more" : ""))
  }

  /// Waits until the manager has taken everything, for `limit` at most.
  ///
  /// - Returns: whether it has.
  package func flush(within limit: Duration) -> Bool {
    if !hasThread { sendWaiting() }
    return !hasFailed && (!hasThread || sender.flush(within: limit))
  }

  /// Sends the manager what is queued, if there is no thread.
  package func sendWaiting() {
    precondition(!hasThread, "a thread sends what waits")
    do throws(Errno) {
      try sender.sendWaiting()
    } catch {
      fail(error)
    }
  }

  private func fail(_ error: Errno) {
    guard !hasFailed else { return }
    hasFailed = true
    log.warning(
      "cannot store descriptors at $NOTIFY_SOCKET, and connections do not survive a restart: \(error)")
  }

  // MARK: Capacity

  /// Warns in the log if the configuration allows more than can survive a restart.
  package func check(connectionsMax: Int, filesMax: Int) {
    // Including the write-ahead log.
    let others = filesMax + 1 + Self.handOverRoom
    let needed = connectionsMax + others
    let nameable = (Self.namesLengthMax - filesMax * 8) / StoredName.connection.listedLength
    if capacity < needed {
      log.warning(
        """
        not all connections survive a restart: the service manager keeps \(capacity) descriptors, and \
        ConnectionsMax=\(connectionsMax) with \(filesMax) files takes \(needed). Set FileDescriptorStoreMax= of the \
        service, and TRIBUNE_FDSTORE= beside it, to \(needed)
        """ + (capacity > others ? ", or ConnectionsMax= to \(capacity - others)" : ""))
    } else if connectionsMax > nameable {
      log.warning(
        """
        not all connections survive a restart: of ConnectionsMax=\(connectionsMax), no more than \(nameable) can be \
        named to the next process, however large FileDescriptorStoreMax= is
        """)
    }
  }
}
