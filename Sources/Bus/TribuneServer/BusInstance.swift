// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneLog
package import TribuneSystem
import TribuneWire

/// One daemon's bus, from taking over an earlier daemon's bus to handing over to the next daemon.
///
/// `Daemon` puts a process around it. The simulation (docs/TESTING.md) drives it without one, and uses only what is
/// `package` here, and system calls.
package final class BusInstance {
  let server: BusServer
  let passed: PassedAtStart
  private let log: Log
  private let loop: EventLoop
  private let keeper: KeeperLink

  /// - Parameters:
  ///   - passed: the descriptors that the service manager has passed.
  ///   - keeperPath: the path of the keeper's socket. Without a keeper, nothing outlives this process.
  ///   - isStepped: the main queue is another's, and the caller's thread closes all descriptors.
  package init(
    _ configuration: Configuration, taking passed: PassedAtStart, keptBy keeperPath: String?,
    log: Log, isStepped: Bool = false
  ) throws {
    self.passed = passed
    self.log = log
    loop = try EventLoop(hostsMainQueue: !isStepped)
    let manager = ManagerStore.isAvailable ? try ManagerStore(log: log) : nil
    if keeperPath == nil {
      passed.discard()
      for name in passed.storedNames { manager?.remove(name) }
    }
    keeper = KeeperLink(path: keeperPath, manager: manager, loop: loop, log: log)
    try keeper.resume(into: passed)
    let wal = try Self.log(configuration, passed, keeper, log)
    server = try BusServer(
      configuration: configuration, log: log, loop: loop, wal: wal, keeper: keeper, isStepped: isStepped)
  }

  /// The log that another daemon left, or an empty one.
  private static func log(
    _ configuration: Configuration, _ passed: PassedAtStart, _ keeper: KeeperLink, _ log: Log
  ) throws -> WriteAheadLog {
    if let descriptor = passed.takeLog() {
      do throws(LogError) {
        let wal = try WriteAheadLog(adopting: descriptor)
        keeper.keep(log: wal.rawDescriptor)
        // Until now, only the keeper may have had the log.
        if !passed.storedNames.contains(StoredName.log.rawValue) { keeper.store(log: wal.rawDescriptor) }
        return wal
      } catch {
        log.warning("cannot use the log of the previous daemon, starting without it: \(error)")
      }
    }
    let wal = try emptyLog(configuration)
    keeper.keep(log: wal.rawDescriptor)
    keeper.store(log: wal.rawDescriptor)
    return wal
  }

  /// Makes the longest log that any configuration can need, if this process may have one that long: all later daemons
  /// of this bus take over the same log.
  private static func emptyLog(_ configuration: Configuration) throws(NoMemory) -> WriteAheadLog {
    do throws(Errno) {
      return try WriteAheadLog(
        slotCount: BusServer.slotCount, segmentCapacity: WriteAheadLog.segmentCapacityMax)
    } catch {
      let length = min(WriteAheadLog.segmentCapacityMax, configuration.segmentLength)
      do throws(Errno) {
        return try WriteAheadLog(slotCount: BusServer.slotCount, segmentCapacity: length)
      } catch {
        throw NoMemory(length: length, cause: error)
      }
    }
  }

  /// This process may not have as much memory as the log needs.
  private struct NoMemory: Error, CustomStringConvertible {
    let length: Int
    let cause: Errno

    var description: String {
      "cannot allocate the write-ahead log, twice \(length) bytes (LogMax=, RetainedMax=): \(cause)"
    }
  }

  // MARK: From the first to the last

  /// Takes over the log and the connections. If this process dies before `endTakeOver`, that counts against the log.
  package func takeOver() {
    server.wal.beginRecovery()
    server.takeOver(passed)
  }

  /// Ends the take-over: the bus serves, or does not start for a reason other than the log.
  package func endTakeOver() { server.wal.endRecovery() }

  /// Accepts connections on `listener`.
  package func listen(on listener: Listener) throws(Errno) {
    try server.acceptor.listen(on: listener)
    if let file = listener.ownFile {
      keeper.keep(.listener(file.inode), lending: listener.descriptor.rawValue)
    }
  }

  /// Ends the take-over when the first iteration ends. By then, the bus has taken what clients had sent meanwhile, and
  /// has shown that it can work with the log.
  ///
  /// - Parameter served: called at that time.
  package func start(_ served: @escaping () -> Void = {}) {
    // The bus has taken everything that it resumes.
    keeper.forgetUnclaimed()
    passed.discard()
    server.iterationEnded = { [weak self] in
      guard let self else { return }
      endTakeOver()
      server.iterationEnded = nil
      served()
    }
  }

  /// Runs until the bus ends.
  package func run() throws(Errno) { try loop.run(for: server) }

  /// Makes one iteration of the event loop.
  ///
  /// - Returns: whether the bus continues.
  package func iterate() throws(Errno) -> Bool { try loop.iterate(for: server) }

  /// Applies another configuration.
  package func reconfigure(_ configuration: Configuration) { server.reconfigure(configuration) }

  /// Whether another daemon can resume the connections when this daemon ends.
  package var canHandOver: Bool { !keeper.hasEnded }

  /// Leaves everything to the next daemon. Afterwards, this daemon does nothing more on the bus.
  ///
  /// - Returns: whether nothing is missing; otherwise the next daemon finds what it would find after a crash.
  @discardableResult
  package func handOver() -> Bool {
    precondition(canHandOver, "a hand-over needs a keeper")
    let count = server.sessions.count
    var isWhole = true
    do throws(Errno) {
      try server.handOver()
    } catch {
      log.error("cannot hand over: \(error)")
      isWhole = false
    }
    // Even if something is missing, the next daemon can resume the rest.
    server.seal()
    if !keeper.isUp {
      log.notice("waiting for a keeper for up to \(KeeperLink.handOverLimit.components.seconds) s")
    }
    if keeper.flush(within: KeeperLink.handOverLimit) {
      if isWhole { log.info("handed over \(count.counted("connection"))") }
    } else {
      server.handover.shutUnkept()
      log.error("the keeper has not acknowledged everything")
      isWhole = false
    }
    return isWhole
  }

  // MARK: Stepped

  /// When `checkDeadlines` is due if nothing happens before; nil if there are no deadlines.
  package var nextDeadline: Instant? { server.timer.due }

  /// Acts on deadlines, when `nextDeadline` has come.
  package func checkDeadlines() { server.handleDue() }

  /// Whether a keeper is connected, and whether it has everything that it is to keep.
  package var hasKeeper: Bool { keeper.isUp }
  package var isAllKept: Bool { keeper.isSettled && keeper.keepsAll }

  /// Everything that the bus holds for its clients. All counts are 0 when the clients have gone.
  package var holdings: [(name: String, count: Int)] {
    [
      ("connections", server.sessions.count), ("observations", server.bus.value.observationCount),
      ("delegates", server.bus.value.delegateCount), ("holds", server.bus.value.holdCount),
      ("declarations", server.bus.value.declarationCount), ("queries", server.bus.value.queryCount),
      ("deadlines", server.bus.value.nextDeadline == nil ? 0 : 1),
      ("buffered bytes", server.bus.value.suspendedByteCount),
      ("queued bytes", server.sender.queuedByteCount),
      ("bytes of partial frames", server.reader.partialByteCount),
      ("descriptors under way", server.files.quota.heldCount),
      ("charged resources", server.sessions.accounts.usedResourceCount),
      ("waiting posts", server.recorder.postponed.count),
    ]
  }
}
