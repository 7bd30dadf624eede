// SPDX-License-Identifier: Apache-2.0

import TribuneService
import TribuneSystem

/// The process around a keeper: its socket, signals and the service manager.
enum KeeperProcess {
  private static let ownDescriptors = 64

  private static let flushGrace = Duration.seconds(2)

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func run(listeningAt path: String?, _ log: Log) -> Int32 {
    Signals.ignore(Signals.brokenPipe)
    defer { log.flush(within: flushGrace) }
    // The keeper has no configuration to reload.
    Signals.ignore(Signals.hangUp)
    // A process that could trace this one could get every client's connection.
    ThisProcess.forbidTracing()
    do {
      let signals = try SignalDescriptor([Signals.terminate, Signals.interrupt])
      try ThisProcess.raiseDescriptorLimit()
      let notifier = ServiceNotifier { log.warning($0) }
      let watchdog = ServiceNotifier.watchdogIntervalNanoseconds
      let keeper = try Keeper(
        on: try listener(at: path, log), endedBy: signals,
        capacity: max(1, ThisProcess.descriptorLimit - ownDescriptors), log: log,
        beatMilliseconds: watchdog.map { CInt(clamping: $0 / 2_000_000) } ?? -1,
        beat: watchdog == nil ? nil : { notifier.watchdog() })
      notifier.ready()
      try keeper.run()
      log.info("the keeper has stopped")
      return 0
    } catch {
      log.error("\(error)")
      return 1
    }
  }

  private static func listener(at path: String?, _ log: Log) throws -> FileDescriptor {
    let passed = try PassedAtStart.receive()
    guard passed.count <= 1 else {
      throw Failure(description: "\(passed.count) sockets were passed instead of one")
    }
    if let socket = passed.first?.descriptor { return FileDescriptor(owning: socket) }
    guard let path else { throw Failure(description: "no socket was passed, and no --listen=PATH given") }
    do throws(Errno) {
      let listener = try Keeper.listener(at: path)
      log.info("keeping connections for the bus, listening on \(path)")
      return listener
    } catch {
      throw Failure(description: "\(path): \(error)")
    }
  }
}
