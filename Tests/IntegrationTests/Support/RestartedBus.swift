// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneServer
import TribuneWire

/// A real bus with a keeper, on which a daemon follows the other.
final class RestartedBus {
  let folder: TestFolder
  /// Nil where no service manager has started the daemons.
  let manager: FakeSupervisor?
  private(set) var keeper: TestKeeper
  /// The daemon that serves, or the last one.
  private(set) var bus: TestBus
  /// What the daemons have written to standard error, one by one.
  private var logs: [String] = []

  var path: String { bus.path }
  var address: String { bus.address }
  var pid: Int32 { bus.pid }

  /// Starts a keeper and a daemon.
  ///
  /// - Parameters:
  ///   - configuration: the text of tribuned.conf.
  ///   - room: descriptors that are kept at most.
  ///   - isManaged: whether a service manager starts the daemons.
  ///   - arguments: of the first daemon, beside where its configuration and its keeper are.
  ///   - wrapper: a command that starts the first daemon, which is appended to it.
  init(
    configuration: String = "", room: Int? = nil, isManaged: Bool = false, arguments: [String]? = nil,
    wrapper: [String] = [], folder: TestFolder? = nil
  ) throws {
    let folder = try folder ?? TestFolder()
    self.folder = folder
    keeper = try room.map { try .limited(to: $0, in: folder) } ?? TestKeeper(in: folder)
    manager = isManaged ? try FakeSupervisor(in: folder) : nil
    bus = try TestBus(
      configuration: configuration, wrapper: wrapper, arguments: arguments, folder: folder, log: "log0",
      keeper: keeper.path, manager: manager)
    logs = [bus.logPath]
  }

  /// Starts another daemon.
  ///
  /// - Parameter options: what its command line says besides.
  func start(_ options: [String] = [], configuration: String? = nil) throws {
    bus = try TestBus(
      configuration: configuration, arguments: ["--listen=\(path)"] + options, folder: folder,
      log: "log\(logs.count)", keeper: keeper.path, manager: manager)
    logs.append(bus.logPath)
  }

  /// Starts another keeper, in place of one that has gone.
  func startKeeper() throws { keeper = try TestKeeper(in: folder) }

  /// Has another daemon take the place of this one, which ends.
  func replace() throws {
    let last = bus
    try start(["--replace"])
    let status = last.waitForEnd()
    guard status == 0 else {
      throw Programs.Missing(description: "the daemon that was replaced ends with \(status)\n\(try log())")
    }
  }

  /// Has another daemon try the same, which is to fail.
  ///
  /// - Returns: what it says.
  func replaceInVain(_ options: [String] = [], wrapper: [String] = []) throws -> FinishedProgram {
    try FinishedProgram.tribuned(
      ["--config=\(folder.path)/etc", "--replace", "--keeper=\(keeper.path)", "--listen=\(path)"] + options,
      wrapper: wrapper)
  }

  /// Ends the daemon, and waits for that.
  ///
  /// - Returns: its exit status, or the signal that ended it, negated.
  @discardableResult
  func end(_ signal: CInt) -> Int32 {
    bus.signal(signal)
    return bus.waitForEnd()
  }

  /// How one daemon is followed by another.
  enum Way: CaseIterable {
    case planned, crash, replacement

    /// Those in which the first daemon has gone before there is another one.
    static let apart = [Way.planned, .crash]
    /// Those in which the first daemon hands everything over.
    static let unnoticed = [Way.planned, .replacement]
  }

  /// Ends the daemon before there is another one.
  func end(_ way: Way) throws {
    guard way == .planned else { return try die() }
    let status = end(SIGTERM)
    guard status == 0 else {
      throw Programs.Missing(description: "the daemon ends with \(status)\n\(try log())")
    }
  }

  func restart(_ way: Way = .planned) throws {
    if way == .replacement { return try replace() }
    try end(way)
    try start()
  }

  /// The daemon dies, when the keeper has all that it is to keep, and nothing of what was done before is under way.
  func die() throws {
    try settleKeeper()
    end(SIGKILL)
  }

  /// The daemon dies, and another one is started.
  func crash() throws { try restart(.crash) }

  /// Waits until the keeper has all that it is to keep: it takes that in order, so it has, when it has a connection that
  /// came to be kept later.
  func settleKeeper() throws {
    let (probe, welcome) = try RawClient.welcomed(self)
    // What needs no room in the log.
    try probe.sendConfirmed(Suspend(isSuspended: false), serial: 1)
    try bus.wait(serving: probe) { try probe.entry(of: welcome.connection)?.isSurviving == true }
    try probe.leave()
    // The keeper has been sent that as well.
    try RawClient.greeted(self).settle()
  }

  /// Looks at, or changes, what the keeper has between two daemons.
  func withKept<Result: ~Copyable>(_ body: (KeptContents) throws -> Result) throws -> Result {
    try body(KeptContents(ofKeeperAt: keeper.path))
  }

  /// Has the keeper have another log, which a test has changed.
  func changeLog(_ change: (inout SavedLog) throws -> Void) throws {
    try withKept { kept in
      var state = try SavedLog(of: kept.descriptor(.log))
      try change(&state)
      try kept.replace(.log, by: state.file())
    }
  }

  /// Ends the daemon as planned.
  ///
  /// - Returns: how many files are kept, beside the one with what was under way.
  func endCountingFiles() throws -> Int {
    try end(.planned)
    return try withKept { $0.count(.file) } - 1
  }

  /// What all daemons have written to standard error.
  func log() throws -> String { try logs.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined() }
}
