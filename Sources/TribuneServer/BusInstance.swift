// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribuneLog
package import TribuneSystem
import TribuneWire

/// One daemon's bus: from what an earlier daemon has left to what it leaves to the next.
///
/// `Daemon` puts a process around it. The simulation (docs/TESTING.md) drives it without one, through what is `package`
/// here and through system calls, and through nothing else.
package final class BusInstance {
  /// How long the service manager has to take what is handed over.
  private static let storeGrace = Duration.seconds(5)

  let server: BusServer
  let passed: PassedAtStart
  private let log: Log
  private let loop: EventLoop
  private let store: DescriptorStore?

  /// - Parameters:
  ///   - passed: what the service manager, or the daemon whose place this one takes, has passed.
  ///   - state: that daemon's; nil to take what was stored, or an empty one.
  ///   - isStepped: the caller's thread does what the main queue, and the thread that sends to the service manager, would
  ///     do: `lookAtDeadlines`, `sendToManager`.
  package init(
    _ configuration: Configuration, taking passed: PassedAtStart, _ wal: WriteAheadLog? = nil, log: Log,
    isStepped: Bool = false
  ) throws {
    self.passed = passed
    self.log = log
    loop = try EventLoop(hostsMainQueue: !isStepped)
    store = DescriptorStore(log: log, holding: passed, hasThread: !isStepped)
    store?.check(connectionsMax: configuration.connectionsMax, filesMax: DescriptorQuota.filesMax)
    let wal = if let wal { wal } else { try Self.log(configuration, passed, store, log) }
    server = try BusServer(configuration: configuration, log: log, loop: loop, wal: wal, store: store)
  }

  /// The state that another daemon has left, or an empty one.
  private static func log(
    _ configuration: Configuration, _ passed: PassedAtStart, _ store: DescriptorStore?, _ log: Log
  ) throws(NoState) -> WriteAheadLog {
    while let descriptor = passed.takeState() {
      do throws(LogError) {
        let wal = try WriteAheadLog(adopting: descriptor)
        if wal.segmentCapacity / 2 < configuration.stateMaxBytes {
          log.notice(
            "the state that was stored has room for \(wal.segmentCapacity) bytes, less than twice StateMax=")
        }
        return wal
      } catch {
        log.warning("the state that was stored cannot be taken over, and the bus starts without: \(error)")
      }
    }
    let wal = try emptyLog(configuration)
    store?.removeState()
    let isStored = FileDescriptor.lending(wal.rawDescriptor) { store?.store($0, as: .state) ?? true }
    if !isStored { log.warning("the state cannot be stored, and no connection survives a restart") }
    return wal
  }

  /// A state that can be as long as any configuration lets it become, if this process may have something that long: for
  /// as long as there is this bus, it is only ever passed on.
  private static func emptyLog(_ configuration: Configuration) throws(NoState) -> WriteAheadLog {
    do throws(Errno) {
      return try WriteAheadLog(
        slotCount: BusServer.slotCount, segmentCapacity: WriteAheadLog.segmentCapacityMax)
    } catch {
      // What follows from what is let in has as much room as that, and what is retained has its own limit.
      let length = min(
        WriteAheadLog.segmentCapacityMax, 2 * configuration.stateMaxBytes + configuration.retainedMaxBytes)
      do throws(Errno) {
        return try WriteAheadLog(slotCount: BusServer.slotCount, segmentCapacity: length)
      } catch {
        throw NoState(length: length, cause: error)
      }
    }
  }

  /// The state finds no room in what this process may have.
  private struct NoState: Error, CustomStringConvertible {
    let length: Int
    let cause: Errno

    var description: String {
      "cannot make room for the state of the bus, twice \(length) bytes by StateMax= and RetainedMax=: \(cause)"
    }
  }

  // MARK: From the first to the last

  /// Goes on with what was left. Until `endTakeOver`, the death of this process counts against that.
  package func takeOver() {
    server.recorder.wal.beginRecovery()
    server.takeOver(passed)
  }

  /// The bus has come to serve, or does not start for a reason that what was left is not to blame for.
  package func endTakeOver() { server.recorder.wal.endRecovery() }

  /// Accepts connections on `listener`.
  package func listen(on listener: Listener) throws(Errno) {
    try server.gatekeeper.acceptor.listen(on: listener)
  }

  /// Has the end of the first iteration end the take-over: what clients had sent meanwhile has been taken by then, and
  /// the state is one that the bus can go on with.
  ///
  /// - Parameter served: called then.
  package func start(_ served: @escaping () -> Void = {}) {
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

  /// Whether somebody goes on with the connections when this daemon ends.
  package var isSucceeded: Bool { store.map { !$0.hasFailed } ?? false }

  /// Leaves everything to the next daemon. Nothing happens on the bus any more.
  ///
  /// - Returns: whether it was everything; else the next one finds what it would after this one's death.
  @discardableResult
  package func handOver() -> Bool {
    guard let store else { preconditionFailure("nobody keeps what is handed over") }
    let count = server.sessions.count
    var isWhole = true
    do throws(Errno) {
      try server.handOver { file in FileDescriptor.lending(file) { store.store(file: $0) != nil } }
    } catch {
      log.error("cannot hand over: \(error)")
      isWhole = false
    }
    // Whatever is missing then, the next daemon finds more than nothing.
    server.seal()
    if store.flush(within: Self.storeGrace) {
      log.info("handed over \(count.counted("connection"))")
    } else {
      log.error("the service manager has not taken everything in \(Self.storeGrace)")
      isWhole = false
    }
    return isWhole
  }

  // MARK: Stepped

  /// When the bus looks at its deadlines next, if nothing happens before; nil if there are none.
  package var nextLook: Instant? { server.nextLook }

  /// The time for that has come.
  package func lookAtDeadlines() { server.lookNow() }

  /// Sends the service manager what waits for it.
  package func sendToManager() { store?.sendWaiting() }

  /// All that the bus has for its clients: nothing of it is left when they have gone.
  package var holdings: [(name: String, count: Int)] {
    [
      ("connections", server.sessions.count), ("observations", server.interpreter.bus.value.observationCount),
      ("delegates", server.interpreter.bus.value.delegateCount),
      ("queries", server.interpreter.bus.value.queryCount),
      ("queued bytes", server.sender.queuedByteCount),
      ("bytes of partial frames", server.gatekeeper.partials.reservedByteCount),
      ("descriptors of partial frames", server.gatekeeper.quota.waitingCount),
      ("files", server.gatekeeper.quota.files.current), ("posts that wait", server.recorder.postponed.count),
    ]
  }
}
