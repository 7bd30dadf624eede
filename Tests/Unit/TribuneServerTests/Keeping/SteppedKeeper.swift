// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneServer
import TribuneSystem

@MainActor
final class SteppedKeeper {
  /// Tests share a thread: a pending signal must not end another keeper.
  private static var signalCount: CInt = 0
  private let number: CInt

  let folder: TemporaryFolder
  private(set) var keeper: Keeper?
  private var listener: FileDescriptor?
  var path: String { "\(folder.path)/keeper" }

  init(capacity: Int = 10_000) throws {
    folder = try TemporaryFolder()
    number = __libc_current_sigrtmin() + Self.signalCount % 24
    Self.signalCount += 1
    try start(capacity: capacity)
  }

  func start(capacity: Int = 10_000) throws {
    let socket = try Keeper.listener(at: path)
    listener = try socket.duplicate()
    keeper = try Keeper(
      on: socket, endedBy: try SignalDescriptor([number]), capacity: capacity,
      log: Log(level: .error, journal: nil), beatMilliseconds: 100, beat: {})
  }

  func signal() throws { try #require(raise(number) == 0) }

  /// A process that another test just forked has a copy of the listener; a bus must not connect to it.
  func die() {
    keeper = nil
    if let socket = listener.take() { UnixSocket.shutdown(socket) }
  }

  var count: Int { keeper?.count ?? 0 }

  /// Returns false when the keeper ends.
  @discardableResult
  func turn() throws -> Bool {
    for _ in 0..<50 {
      guard try keeper?.turn(isWaiting: false) == true else { return false }
    }
    return true
  }

  func turn(until hasHappened: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !hasHappened() {
      try #require(ContinuousClock.now < deadline, "nothing happens within a minute")
      try #require(try keeper?.turn(isWaiting: true) == true)
    }
  }

  func bus(saying message: KeeperMessage? = nil) throws -> KeptBus {
    let bus = try KeptBus(of: self)
    if let message { try bus.say(message) }
    return bus
  }

  func servedBus() throws -> KeptBus {
    let bus = try bus()
    #expect(try bus.ask(.attach(.begin)) == .acknowledged(count: 0))
    return bus
  }
}

@MainActor
final class KeptBus {
  private let keeper: SteppedKeeper
  private let channel: KeeperChannel
  private(set) var passed: [CInt] = []

  fileprivate init(of keeper: SteppedKeeper) throws {
    self.keeper = keeper
    channel = try KeeperChannel.connect(to: keeper.path)
  }

  deinit { for descriptor in passed { close(descriptor) } }

  func say(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws {
    let isSent = try channel.send(message, passing: descriptors)
    try #require(isSent)
  }

  var isAddressed: Bool { get throws { try channel.wait(atMost: .zero) } }

  func say(bytes: [UInt8]) throws {
    let socket = channel.rawValue
    try #require(unsafe send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
  }

  func hear() throws -> KeeperMessage? {
    try keeper.turn()
    for descriptor in passed { close(descriptor) }
    passed = []
    guard case .message(let message, var passed) = try channel.receive() else { return nil }
    self.passed = passed.releaseAll()
    return message
  }

  func ask(_ message: KeeperMessage, passing descriptors: [CInt] = []) throws -> KeeperMessage? {
    try say(message, passing: descriptors)
    return try hear()
  }

  /// Closes its own copies. Returns the number that the keeper took.
  func keep(_ connections: [WatchedConnection], and more: [KeptItem] = [], _ descriptors: [CInt] = []) throws
    -> Int
  {
    let own = connections.map(\.passed) + descriptors
    let answer = try ask(.batch(connections.map { .connection($0.cookie) } + more), passing: own)
    for descriptor in own { close(descriptor) }
    guard case .acknowledged(let count)? = answer else {
      Issue.record("\(String(describing: answer))")
      return 0
    }
    return count
  }

  func takeAll() throws -> [KeptItem] {
    var items: [KeptItem] = []
    while true {
      try keeper.turn { try isAddressed }
      switch try hear() {
      case .batch(let batch)?:
        #expect(passed.count == batch.count)
        for (item, descriptor) in zip(batch, passed) where item.kind == .connection {
          let copy = try FileDescriptor.duplicate(of: descriptor)
          let cookie = try UnixSocket.cookie(of: copy)
          #expect(cookie == item.key)
        }
        items += batch
        try say(.acknowledged(count: batch.count))
      case .end(let count)?:
        #expect(count == items.count)
        return items
      case let other:
        Issue.record("\(String(describing: other))")
        return items
      }
    }
  }

  func lastWords() throws -> [KeeperMessage]? {
    try keeper.turn()
    var words: [KeeperMessage] = []
    do throws(KeeperChannel.Failure) {
      while case .message(let message, _) = try channel.receive() { words.append(message) }
      return nil
    } catch {
      #expect(error == .ended)
      return words
    }
  }

  func hangUp() { _ = shutdown(channel.rawValue, CInt(SHUT_RDWR)) }
}
