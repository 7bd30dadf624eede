// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneServer
import TribuneWire

/// A real bus with a keeper, whose daemon can be followed by another.
final class RestartedBus: ServedBus {
  let folder: TestFolder
  /// The service manager that starts the daemons, if one does.
  let manager: FakeSupervisor?
  private(set) var keeper: TestKeeper
  /// The latest daemon.
  private(set) var bus: TestBus
  /// A command to which the command lines of later daemons are appended.
  var laterWrapper: [String] = []
  /// Options of later daemons beside those that all have.
  var laterOptions: [String] = []
  /// The files with the daemons' standard error.
  private var logs: [String] = []

  var path: String { bus.path }
  var pid: Int32 { bus.pid }

  /// Starts a keeper and a daemon.
  ///
  /// - Parameters:
  ///   - configuration: the text of tribuned.conf.
  ///   - room: the most descriptors that the keeper can have.
  ///   - isManaged: whether a service manager starts the daemons.
  ///   - arguments: the first daemon's options beside `--config` and `--keeper`.
  ///   - wrapper: a command to which the first daemon's command line is appended.
  init(
    configuration: String = "", room: Int? = nil, isManaged: Bool = false, arguments: [String]? = nil,
    wrapper: [String] = [], folder: TestFolder? = nil
  ) throws {
    let folder = try folder ?? TestFolder()
    self.folder = folder
    keeper = try TestKeeper(in: folder, room: room)
    manager = isManaged ? try FakeSupervisor(in: folder) : nil
    bus = try TestBus(
      configuration: configuration, wrapper: wrapper, arguments: arguments, folder: folder, log: "log0",
      keeper: keeper.path, manager: manager)
    logs = [bus.logPath]
  }

  /// Starts another daemon.
  func start(configuration: String? = nil) throws {
    bus = try TestBus(
      configuration: configuration, wrapper: laterWrapper,
      arguments: ["--listen=\(path)"] + laterOptions, folder: folder,
      log: "log\(logs.count)", keeper: keeper.path, manager: manager)
    logs.append(bus.logPath)
  }

  /// Starts another keeper, after the last one has ended.
  func startKeeper() throws { keeper = try TestKeeper(in: folder) }

  /// Sends the daemon a signal, and waits for its end.
  ///
  /// - Returns: the exit status, or the signal that ended it, negated.
  @discardableResult
  func end(_ signal: CInt) -> Int32 { bus.end(signal) }

  /// How one daemon is followed by another.
  enum Way: CaseIterable {
    case planned, crash
  }

  /// Ends the daemon without starting another one.
  func end(_ way: Way) throws {
    guard way == .planned else { return try die() }
    let status = end(SIGTERM)
    guard status == 0 else {
      throw Programs.Missing(description: "the daemon ends with \(status)\n\(try log())")
    }
  }

  func restart(_ way: Way = .planned) throws {
    try end(way)
    try start()
  }

  /// Kills the daemon when the keeper has everything and no earlier transaction is under way.
  func die() throws {
    try settleKeeper()
    end(SIGKILL)
  }

  /// Kills the daemon, and starts another one.
  func crash() throws { try restart(.crash) }

  /// Waits until the keeper has everything that it has to keep. It takes items in order: once it has a connection that
  /// was made last, it has all others.
  func settleKeeper() throws {
    let (probe, welcome) = try RawClient.welcomed(self)
    // A request that needs no room in the log.
    try probe.sendConfirmed(Suspend(isSuspended: false), serial: 1)
    try bus.wait(serving: probe) { try probe.entry(of: welcome.connection)?.isSurviving == true }
    try probe.leave()
    // After this, the keeper has also been sent the probe's end.
    try RawClient.greeted(self).settle()
  }

  /// Inspects or changes what the keeper has between two daemons.
  func withKept<Result: ~Copyable>(_ body: (KeptContents) throws -> Result) throws -> Result {
    try body(KeptContents(ofKeeperAt: keeper.path))
  }

  /// Changes the log that the keeper has.
  func changeLog(_ change: (inout SavedLog) throws -> Void) throws {
    try withKept { kept in
      var state = try SavedLog(of: kept.descriptor(.log))
      try change(&state)
      try kept.replace(.log, by: state.file())
    }
  }

  /// Ends the daemon as planned.
  ///
  /// - Returns: the number of files that are kept, without the one that describes the hand-over.
  func endCountingFiles() throws -> Int {
    try end(.planned)
    return try withKept { $0.count(.file) } - 1
  }

  /// Everything that the daemons have written to standard error.
  func log() throws -> String { try logs.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined() }
}
