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

  /// Disturbs a bus that has unread posts, a half-received frame and a client that has not said hello, and checks that
  /// no client notices.
  private static func expectNothing(
    noticedOn replaced: RestartedBus, when disturb: () throws -> Void, afterwards: () throws -> Void
  ) throws {
    let bus = replaced.bus
    let observer = try RawClient.observing("load.*", on: bus)
    let poster = try RawClient.greeted(bus)
    let silent = try RawClient(bus)
    let frame = ByteBuffer(capacity: 64)
    frame.appendFrame(Post(), serial: 1001, name: "load.unit", text: "last")
    let bytes = [UInt8](frame.bytes)
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...1000 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    try poster.send(Array(bytes[..<40]))
    try RawClient.greeted(bus).settle()

    try disturb()
    try poster.send(Array(bytes[40...]))
    try poster.settle()
    try silent.greet()
    for serial in 1...500 { #expect(try observer.next().header.serial == Serial(serial)) }
    try afterwards()
    for serial in 501...1000 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().payload == "last")
    for client in [observer, poster, silent] { try client.settle() }
    #expect(try poster.busEntry().connections == 3)
  }

  // MARK: The other daemon fails

  /// How a daemon fails that wants to replace the bus.
  enum Step: CaseIterable {
    case hangsUp
    case hangsUpWhileTheBusHangs
    case hangsUpWhenGiven
    case saysNothing
  }

  @Test("the bus goes on with all clients when the daemon that replaces it fails", arguments: Step.allCases)
  func step(_ step: Step) throws {
    let replaced = try RestartedBus()
    try Self.expectNothing(noticedOn: replaced) {
      try fail(step, replaced)
      // The bus hands nothing over if the other daemon has hung up before.
      if ![.hangsUp, .hangsUpWhileTheBusHangs].contains(step) {
        try replaced.bus.waitForLog("cannot hand over to another daemon")
      }
    } afterwards: {
      try replaced.settleKeeper()
      try replaced.replace()
    }
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

  /// How a keeper fails when the bus has handed everything over.
  enum KeeperStep: CaseIterable {
    case hangsUp, refuses, talksNonsense, saysWhatIsNotToBeSaid
  }

  @Test("the bus goes on with all clients when the keeper fails meanwhile", arguments: KeeperStep.allCases)
  func keeper(_ step: KeeperStep) throws {
    let replaced = try RestartedBus()
    let path = replaced.keeper.path
    try Self.expectNothing(noticedOn: replaced) {
      replaced.keeper.die()
      _ = unsafe unlink(path)
      do {
        let keeper = try KeeperPeer(acceptedAt: try KeeperPeer.listening(at: path))
        _ = unsafe unlink(path)
        try keeper.serve()
        try keeper.send(.yieldRequest(logVersion: WriteAheadLog.version))
        try keeper.serve(until: .yielded)
        switch step {
        case .hangsUp: break
        case .refuses: try keeper.send(.refusal("it has gone"))
        case .talksNonsense: try keeper.send(Self.nonsense)
        case .saysWhatIsNotToBeSaid: try keeper.send(.ready)
        }
        if step != .hangsUp { try replaced.bus.waitForLog("cannot hand over to another daemon") }
      }
      try replaced.startKeeper()
      try replaced.settleKeeper()
    } afterwards: {
      try replaced.replace()
    }
  }

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
