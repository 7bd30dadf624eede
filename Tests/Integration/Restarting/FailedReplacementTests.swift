// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneLog
import TribuneServer
import TribuneSystem
import TribuneWire

/// Replacements that fail: the bus goes on, and the new daemon says why it has not taken over.
@Suite("Failed replacements", .timeLimit(.minutes(3)))
struct FailedReplacementTests {
  /// A packet that is no message.
  private static let nonsense: [UInt8] = [0, 0, 0, 0, 77, 0, 0, 0]

  private static func attach(logVersion: UInt32 = WriteAheadLog.version) -> KeeperMessage {
    .attach(.replace(logVersion: logVersion))
  }

  // MARK: The other daemon fails

  /// How a daemon fails that wants to replace the bus.
  enum Step: CaseIterable {
    case hangsUp, hangsUpWhileTheBusHangs, hangsUpWhenGiven, saysNothing
  }

  @Test("the bus goes on with all clients when the daemon that replaces it fails", arguments: Step.allCases)
  func step(_ step: Step) throws {
    let replaced = try RestartedBus()
    let bus = replaced.bus
    let observer = try RawClient.observing("load.*", on: bus)
    let poster = try RawClient.greeted(bus)
    let silent = try RawClient(bus)
    let last = RawClient.bytes { $0.appendFrame(Post(), serial: 1001, name: "load.unit", text: "last") }
    let payload = String(repeating: "x", count: 1000)
    try poster.send {
      for serial in 1...1000 as ClosedRange<Serial> {
        $0.appendFrame(Post(), serial: serial, name: "load.unit", text: payload)
      }
    }
    try poster.settle()
    try poster.send(Array(last[..<40]))
    try RawClient.greeted(bus).settle()

    try fail(step, replaced)
    // The bus hands nothing over if the other daemon has hung up before.
    if ![.hangsUp, .hangsUpWhileTheBusHangs].contains(step) {
      try bus.waitForLog("cannot hand over to another daemon")
    }
    try poster.send(Array(last[40...]))
    try poster.settle()
    try silent.greet()
    for serial in 1...500 { #expect(try observer.next().header.serial == Serial(serial)) }
    try replaced.settleKeeper()
    try replaced.replace()
    for serial in 501...1000 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().payload == "last")
    for client in [observer, poster, silent] { try client.settle() }
    #expect(try poster.busEntry().connections == 3)
  }

  private func fail(_ step: Step, _ replaced: RestartedBus) throws {
    if step == .hangsUpWhileTheBusHangs { try replaced.bus.freeze() }
    defer { replaced.bus.signal(SIGCONT) }
    let peer = try KeeperPeer(connectingTo: replaced.keeper.path)
    try peer.send(Self.attach())
    guard [.hangsUpWhenGiven, .saysNothing].contains(step) else { return }
    for descriptor in try peer.receiveAll().values { close(descriptor) }
    guard step == .saysNothing else { return }
    // It has failed when the bus serves again.
    try withExtendedLifetime(peer) { try RawClient.greeted(replaced).settle() }
  }

  @Test("the bus does not hand over to a daemon that cannot read its log's version")
  func version() throws {
    let replaced = try RestartedBus()
    let peer = try KeeperPeer(connectingTo: replaced.keeper.path)
    try peer.send(Self.attach(logVersion: WriteAheadLog.version - 1))
    let (mine, last) = (WriteAheadLog.version, WriteAheadLog.version - 1)
    try peer.expect(.refusal("the log has version \(mine), and the new daemon reads up to \(last)"))
    try RawClient.greeted(replaced).settle()
  }

  // MARK: The keeper fails

  /// How a keeper fails a daemon that wants to replace a bus.
  enum Impostor: CaseIterable {
    case talksNonsense, countsWrong, givesNoLog

    var complaint: String {
      switch self {
      case .talksNonsense: "protocol error: "
      case .countsWrong: "2 of 7 items came"
      case .givesNoLog: "cannot use its log"
      }
    }
  }

  @Test("a daemon does not replace the bus when the keeper fails", arguments: Impostor.allCases)
  func impostor(_ impostor: Impostor) throws {
    let (folder, daemon, keeper) = try Self.waiting()
    let file = try SharedFile.make([1, 2, 3])
    switch impostor {
    case .talksNonsense: try keeper.send(Self.nonsense)
    case .countsWrong, .givesNoLog:
      let path = "\(folder.path)/bus"
      let listener = try UnixSocket.listening(at: path)
      let items = [KeptItem.log(7), .listener(try #require(SocketFile(at: path)).inode)]
      try keeper.send(.batch(items), passing: [file.rawValue, listener.rawValue])
      try keeper.expect(.acknowledged(count: 2))
      try keeper.send(.end(count: impostor == .countsWrong ? 7 : 2))
    }
    #expect(daemon.status() == 1)
    let errors = try daemon.errors.rest()
    #expect(errors.contains("tribuned: cannot replace the bus: "), "\(errors)")
    #expect(errors.contains(impostor.complaint), "\(errors)")
  }

  @Test("a signal ends a daemon that waits for a hung keeper", arguments: [SIGTERM, SIGINT])
  func calledOff(number: Int32) throws {
    let (folder, daemon, keeper) = try Self.waiting()
    #expect(daemon.end(number) == -number)
    withExtendedLifetime((folder, keeper)) {}
  }

  /// A daemon with `--replace` that waits for an answer of a keeper, which the test plays.
  private static func waiting() throws -> (TestFolder, RunningProgram, KeeperPeer) {
    let folder = try TestFolder()
    let listener = try KeeperPeer.listening(at: "\(folder.path)/keeper")
    let daemon = try RunningProgram([
      try Programs.path(of: "tribuned"), "--replace", "--listen=\(folder.path)/bus",
      "--keeper=\(folder.path)/keeper", "--config=\(folder.path)",
    ])
    let keeper = try KeeperPeer(acceptedAt: listener)
    try keeper.expect(attach())
    return (folder, daemon, keeper)
  }
}
