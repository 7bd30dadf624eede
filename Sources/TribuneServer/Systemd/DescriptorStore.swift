// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import TribuneSystem
import TribuneWire

/// The descriptors that the service manager keeps for the daemon, and passes to the next one when this one has ended,
/// however it ended (systemd.service(5), `FileDescriptorStoreMax=`; sd_notify(3), `FDSTORE=1`).
///
/// What goes there is the bus's state, its clients' connections, and files in memory. The manager does not answer:
/// a store that is full says nothing. So what is in it is counted here, and what has no room is refused.
///
/// A manager can be slow, and whoever tells it something waits while its socket is full. The bus must not: here it
/// only hands over a copy of the descriptor, and a thread of its own sends it (`DescriptorSender`).
///
/// The manager lets go of a connection by itself when that has hung up, which it has after shutdown(2) on either side;
/// of the others when it is told to.
package final class DescriptorStore {
  /// Descriptors that the manager keeps.
  package let capacity: Int
  /// Descriptors that are there, or on their way.
  package private(set) var count: Int
  /// The manager can be told nothing any more; what was not there yet does not get there.
  package private(set) var hasFailed = false

  /// Places that connections leave for what is stored when the bus is handed over.
  nonisolated package static let handOverRoom = 2

  /// What the kernel takes as one variable, without its name, and the names of the listening sockets.
  static let namesLengthMax = 128 << 10 - 1 << 10 - 4 << 10

  private let log: Log
  private let sender: DescriptorSender
  private let hasThread: Bool
  /// Bytes that all names take.
  private var namesLength: Int
  private var stateCount: Int
  /// Whether a state is there, or on its way. Without one, nobody goes on with what else there is.
  package var hasState: Bool { stateCount > 0 && !hasFailed }
  private var lastFile: UInt64

  /// Connects to the store, if there is one.
  ///
  /// What was passed from it lies in it still, and counts. What is foreign is taken out.
  ///
  /// - Parameter hasThread: false where the caller sends what waits (`sendWaiting`).
  /// - Returns: nil when no manager keeps descriptors for this process, which is logged where there is a manager.
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

  /// How many descriptors a manager keeps for this process, as far as it says: systemd does from 254 on, and before
  /// that the unit has to.
  nonisolated package static var offeredCapacity: Int? {
    guard
      let text = Environment.nonEmptyValue(of: "FDSTORE") ?? Environment.nonEmptyValue(of: "TRIBUNE_FDSTORE"),
      let capacity = Int(text), capacity > 0
    else { return nil }
    return capacity
  }

  // MARK: What goes in and out

  /// Has a copy of the descriptor stored. Does not wait.
  ///
  /// A state goes in ahead of everything else that waits. What was passed from the store is there already, and is not
  /// to be stored again.
  ///
  /// - Returns: whether it will be there: not when the store is full or has failed, or no descriptor can be had.
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

  /// Has a copy of a file's descriptor stored under a name that no other file has.
  ///
  /// - Returns: its number; nil where `store(_:as:)` returns false.
  package func store(file descriptor: borrowing FileDescriptor) -> UInt64? {
    guard store(descriptor, as: .file(lastFile + 1)) else { return nil }
    lastFile += 1
    return lastFile
  }

  /// A connection that was stored has hung up, or is just going to be shut down. Its descriptor is still open.
  package func forget(connection descriptor: borrowing FileDescriptor) {
    change(by: -1, .connection)
    sender.forget(connection: descriptor.rawValue)
  }

  /// Takes a file out that was stored.
  package func remove(file number: UInt64) {
    change(by: -1, .file(number))
    sender.remove(file: number)
  }

  /// Takes out every state that was stored so far.
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

  /// Sends the manager what waits for it, where no thread does.
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

  // MARK: Whether it is large enough

  /// Says in the log when what the configuration allows is more than can survive.
  package func check(connectionsMax: Int, filesMax: Int) {
    // With the state.
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
