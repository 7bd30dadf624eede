// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneServer
import TribuneWire

final class RestartedBus: ServedBus {
  let folder: TestFolder
  let manager: FakeSupervisor?
  private(set) var keeper: TestKeeper
  private(set) var bus: TestBus
  var laterWrapper: [String] = []
  var laterOptions: [String] = []
  private var logs: [String] = []

  var path: String { bus.path }
  var pid: Int32 { bus.pid }

  /// `room` is the keeper's limit of descriptors; `arguments` follow the first daemon's `--config` and `--keeper`.
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

  func start(configuration: String? = nil) throws {
    bus = try TestBus(
      configuration: configuration, wrapper: laterWrapper,
      arguments: ["--listen=\(path)"] + laterOptions, folder: folder,
      log: "log\(logs.count)", keeper: keeper.path, manager: manager)
    logs.append(bus.logPath)
  }

  func startKeeper() throws { keeper = try TestKeeper(in: folder) }

  /// Returns the exit status, or the negated signal.
  @discardableResult
  func end(_ signal: CInt) -> Int32 { bus.end(signal) }

  enum Way: CaseIterable {
    case planned, crash
  }

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

  func die() throws {
    try settleKeeper()
    end(SIGKILL)
  }

  func crash() throws { try restart(.crash) }

  /// The keeper takes items in order: once it has a new connection, it has all others.
  func settleKeeper() throws {
    let (probe, welcome) = try RawClient.welcomed(self)
    // A request that needs no room in the log.
    try probe.sendConfirmed(Suspend(isSuspended: false), serial: 1)
    try bus.wait(serving: probe) { try probe.entry(of: welcome.connection)?.isSurviving == true }
    try probe.leave()
    // After this, the keeper has also received the probe's end.
    try RawClient.greeted(self).settle()
  }

  func withKept<Result: ~Copyable>(_ body: (KeptContents) throws -> Result) throws -> Result {
    try body(KeptContents(ofKeeperAt: keeper.path))
  }

  func changeLog(_ change: (inout SavedLog) throws -> Void) throws {
    try withKept { kept in
      var state = try SavedLog(of: kept.descriptor(.log))
      try change(&state)
      try kept.replace(.log, by: state.file())
    }
  }

  /// The number of kept files besides the hand-over's description.
  func endCountingFiles() throws -> Int {
    try end(.planned)
    return try withKept { $0.count(.file) } - 1
  }

  func log() throws -> String { try logs.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined() }
}
