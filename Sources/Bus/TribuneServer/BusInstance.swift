// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneLog
package import TribuneSystem
import TribuneWire

/// A bus with its event loop, log and keeper link. `Daemon` and the simulation (docs/TESTING.md) run it.
package final class BusInstance {
  let server: BusServer
  let passed: PassedAtStart
  private let log: Log
  private let loop: EventLoop
  private let keeper: KeeperLink

  /// - Parameters:
  ///   - keeperPath: the path of the keeper's socket. If nil, connections end with this process.
  ///   - isStepped: true in the simulation, whose own loop serves the main queue. If false, `EventLoop`
  ///     serves the main queue, and the bus closes descriptors on separate threads.
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

  private static func log(
    _ configuration: Configuration, _ passed: PassedAtStart, _ keeper: KeeperLink, _ log: Log
  ) throws -> WriteAheadLog {
    if let descriptor = passed.takeLog() {
      do throws(LogError) {
        let wal = try WriteAheadLog(adopting: descriptor)
        keeper.keep(log: wal.rawDescriptor)
        // If the log came from the keeper, the service manager does not store the log yet.
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

  /// Makes the log long enough for any configuration: later daemons take the log over, and their limits can
  /// be higher. If the kernel refuses this length, makes the log long enough only for this configuration.
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

  private struct NoMemory: Error, CustomStringConvertible {
    let length: Int
    let cause: Errno

    var description: String {
      "cannot allocate the write-ahead log, twice \(length) bytes (LogMax=, RetainedMax=): \(cause)"
    }
  }

  // MARK: Start and end

  /// Takes over the previous daemon's bus. Until `endTakeOver`, the log counts this recovery as unfinished.
  package func takeOver() {
    server.wal.beginRecovery()
    server.takeOver(passed)
  }

  /// Must also be called if starting fails after `takeOver`. The log did not cause this failure, so the log
  /// must not count this recovery as unfinished.
  package func endTakeOver() { server.wal.endRecovery() }

  package func listen(on listener: Listener) throws(Errno) {
    try server.acceptor.listen(on: listener)
    if let file = listener.ownFile {
      keeper.keep(.listener(file.inode), lending: listener.descriptor.rawValue)
    }
  }

  /// Ends the take-over after the first iteration. By then, the bus has handled input on the replayed state
  /// without a crash.
  package func start(_ served: @escaping () -> Void = {}) {
    keeper.forgetUnclaimed()
    passed.discard()
    server.iterationEnded = { [weak self] in
      guard let self else { return }
      endTakeOver()
      server.iterationEnded = nil
      served()
    }
  }

  package func run() throws(Errno) { try loop.run(for: server) }

  package func iterate() throws(Errno) -> Bool { try loop.iterate(for: server) }

  package func reconfigure(_ configuration: Configuration) { server.reconfigure(configuration) }

  package var canHandOver: Bool { !keeper.hasEnded }

  /// - Returns: false if the hand-over is incomplete; the next daemon then resumes as after a crash.
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

  package var nextDeadline: Instant? { server.timer.due }

  package func checkDeadlines() { server.handleDue() }

  package var digest: BusDigest { server.bus.value.digest() }
  /// The core's state after this daemon replayed the log; nil in release builds.
  package var replayed: BusDigest? { server.replayed }

  #if DEBUG
    package func observeCommits(_ body: @escaping () -> Void) { server.recorder.committed = body }
  #endif

  package var hasKeeper: Bool { keeper.isUp }
  package var isAllKept: Bool { keeper.isUpToDate && keeper.keepsAll }

  /// The numbers of things that the bus keeps for its clients. All are 0 once all clients have left.
  package var holdings: [(name: String, count: Int)] {
    [
      ("connections", server.sessions.count), ("observations", server.bus.value.observationCount),
      ("delegates", server.bus.value.delegateCount), ("holds", server.bus.value.holdCount),
      ("declarations", server.bus.value.declarationCount), ("queries", server.bus.value.queryCount),
      ("actions", server.bus.value.actionCount),
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
