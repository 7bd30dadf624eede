// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneLog
package import TribuneSystem
import TribuneWire

/// One daemon's bus: from what an earlier daemon has left to what it leaves to the next.
///
/// `Daemon` puts a process around it. The simulation (docs/TESTING.md) drives it without one, through what is `package`
/// here and through system calls, and through nothing else.
package final class BusInstance {
  let server: BusServer
  let passed: PassedAtStart
  private let log: Log
  private let loop: EventLoop
  private let keeper: KeeperLink?

  /// - Parameters:
  ///   - passed: what the service manager has passed.
  ///   - keeperPath: where the keeper listens that keeps what the bus has. Without one, nothing outlives this process.
  ///   - replaces: whether to take the place of the bus that this keeper serves. It has let go of it then.
  ///   - listenPath: where the bus has to listen whose place is taken; anywhere if nil.
  ///   - isStepped: the caller's thread does what the main queue would do: `lookAtDeadlines`.
  package init(
    _ configuration: Configuration, taking passed: PassedAtStart, keptBy keeperPath: String?,
    replaces: Bool = false, listenPath: String? = nil, log: Log, isStepped: Bool = false
  ) throws {
    self.passed = passed
    self.log = log
    loop = try EventLoop(hostsMainQueue: !isStepped)
    let manager = ManagerStore.isThere ? try ManagerStore(log: log) : nil
    if keeperPath == nil {
      passed.discard()
      for name in passed.storedNames { manager?.remove(name) }
    }
    keeper = keeperPath.map { [loop] in KeeperLink(path: $0, manager: manager, loop: loop, log: log) }
    if replaces {
      try keeper?.replace(into: passed, listeningAt: listenPath)
    } else {
      try keeper?.resume(into: passed)
    }
    let wal = try Self.log(configuration, passed, keeper, log, isStrict: replaces)
    server = try BusServer(configuration: configuration, log: log, loop: loop, wal: wal, keeper: keeper)
    if replaces { try keeper?.takePlace() }
  }

  /// The log that another daemon has left, or an empty one.
  ///
  /// - Parameter isStrict: whether to throw if what was left cannot be taken over: who has left it can go on with it.
  private static func log(
    _ configuration: Configuration, _ passed: PassedAtStart, _ keeper: KeeperLink?, _ log: Log, isStrict: Bool
  ) throws -> WriteAheadLog {
    if let descriptor = passed.takeLog() {
      do throws(LogError) {
        let wal = try WriteAheadLog(adopting: descriptor)
        if wal.segmentCapacity / 2 < configuration.logMaxBytes {
          log.notice(
            "the log that was kept has room for \(wal.segmentCapacity) bytes, less than twice LogMax=")
        }
        keeper?.keep(log: wal.rawDescriptor)
        // A keeper may have it alone.
        if !passed.storedNames.contains(StoredName.log.rawValue) {
          keeper?.store(log: wal.rawDescriptor)
        }
        return wal
      } catch {
        guard !isStrict else {
          throw KeeperLink.Failure(
            description: "cannot take the place of the bus: its log cannot be taken over: \(error)")
        }
        log.warning("the log that was kept cannot be taken over, and the bus starts without: \(error)")
      }
    }
    let wal = try emptyLog(configuration)
    keeper?.keep(log: wal.rawDescriptor)
    keeper?.store(log: wal.rawDescriptor)
    return wal
  }

  /// A log that can be as long as any configuration lets it become, if this process may have something that long: for
  /// as long as there is this bus, it is only ever passed on.
  private static func emptyLog(_ configuration: Configuration) throws(NoMemory) -> WriteAheadLog {
    do throws(Errno) {
      return try WriteAheadLog(
        slotCount: BusServer.slotCount, segmentCapacity: WriteAheadLog.segmentCapacityMax)
    } catch {
      // What follows from what is let in has as much room as that, and what is retained has its own limit.
      let length = min(
        WriteAheadLog.segmentCapacityMax,
        2 * configuration.logMaxBytes + configuration.notifications.retainedMaxBytes)
      do throws(Errno) {
        return try WriteAheadLog(slotCount: BusServer.slotCount, segmentCapacity: length)
      } catch {
        throw NoMemory(length: length, cause: error)
      }
    }
  }

  /// The log finds no room in what this process may have.
  private struct NoMemory: Error, CustomStringConvertible {
    let length: Int
    let cause: Errno

    var description: String {
      "cannot make room for the log of the bus, twice \(length) bytes by LogMax= and RetainedMax=: \(cause)"
    }
  }

  // MARK: From the first to the last

  /// Goes on with what was left. Until `endTakeOver`, the death of this process counts against that.
  package func takeOver() {
    server.wal.beginRecovery()
    server.takeOver(passed)
    for name in passed.formerNames { keeper?.removeStored(name) }
  }

  /// The bus has come to serve, or does not start for a reason that what was left is not to blame for.
  package func endTakeOver() { server.wal.endRecovery() }

  /// Accepts connections on `listener`.
  package func listen(on listener: Listener) throws(Errno) {
    try server.acceptor.listen(on: listener)
    if let file = listener.ownFile {
      keeper?.keep(.listener(file.inode), lending: listener.descriptor.rawValue)
    }
  }

  /// Has the end of the first iteration end the take-over: what clients had sent meanwhile has been taken by then, and
  /// the log is one that the bus can go on with.
  ///
  /// - Parameter served: called then.
  package func start(_ served: @escaping () -> Void = {}) {
    // The bus has taken what it goes on with.
    keeper?.forgetRest()
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
  /// - Returns: whether the bus goes on.
  package func iterate() throws(Errno) -> Bool { try loop.iterate(for: server) }

  /// Goes by another configuration from now on.
  package func reconfigure(_ configuration: Configuration) { server.reconfigure(configuration) }

  /// Whether somebody may go on with the connections when this daemon ends.
  package var isSucceeded: Bool { keeper != nil }

  /// Leaves everything to the next daemon. Nothing happens on the bus any more.
  ///
  /// - Returns: whether it was everything; else the next one finds what it would after this one's death.
  @discardableResult
  package func handOver() -> Bool {
    guard let keeper else { preconditionFailure("nobody keeps what is handed over") }
    let count = server.sessions.count
    var isWhole = true
    do throws(Errno) {
      try server.handOver()
    } catch {
      log.error("cannot hand over: \(error)")
      isWhole = false
    }
    // Whatever is missing then, the next daemon finds more than nothing.
    server.seal()
    if !keeper.isUp {
      log.notice("waiting for a keeper, for \(KeeperLink.handOverLimit.components.seconds) s at most")
    }
    if keeper.flush(within: KeeperLink.handOverLimit) {
      if isWhole { log.info("handed over \(count.counted("connection"))") }
    } else {
      server.handover.shutUnkept()
      log.error("the keeper has not taken everything")
      isWhole = false
    }
    return isWhole
  }

  // MARK: Stepped

  /// When the bus looks at its deadlines next, if nothing happens before; nil if there are none.
  package var nextLook: Instant? { server.timer?.due }

  /// The time for that has come.
  package func lookAtDeadlines() { server.timer?.fire() }

  /// Whether there is a keeper, and whether it has acknowledged all that it is to keep.
  package var hasKeeper: Bool { keeper?.isUp ?? false }
  package var isAllKept: Bool { keeper?.isSettled ?? false }

  /// All that the bus has for its clients: nothing of it is left when they have gone.
  package var holdings: [(name: String, count: Int)] {
    [
      ("connections", server.sessions.count), ("observations", server.bus.value.observationCount),
      ("delegates", server.bus.value.delegateCount),
      ("queries", server.bus.value.queryCount),
      ("queued bytes", server.sender.queuedByteCount),
      ("bytes of partial frames", server.reader.partialByteCount),
      ("descriptors of partial frames", server.files.quota.waitingCount),
      ("files", server.files.quota.files.current), ("posts that wait", server.recorder.postponed.count),
    ]
  }
}
