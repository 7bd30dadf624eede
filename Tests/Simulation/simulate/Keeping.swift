// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneServer
import TribuneSystem
import TribuneTestSupport

/// A real keeper and a simulated systemd, which stores the log and the lease and starts daemons and keepers.
final class Keeping {
  let capacity: Int
  private let listener: Socket
  private var keeper: Keeper
  private var stored: [(name: String, descriptor: CInt)] = []
  private(set) var mustHaveLog = false

  init(capacity: Int) throws(Errno) {
    let socket = sim_listen_for_packets()
    guard socket != -1 else { throw .current }
    self.capacity = capacity
    listener = Socket(FileDescriptor(owning: socket))
    keeper = try Self.keeper(on: listener, capacity)
    sim_set_keeper_listener(socket)
  }

  private static func keeper(on listener: Socket, _ capacity: Int) throws(Errno) -> Keeper {
    let copy = try listener.descriptor.duplicate()
    sim_keep(copy.rawValue, 1)
    return try Keeper(
      on: copy, endedBy: try SignalDescriptor([SIGUSR2]), capacity: capacity,
      log: Log(level: Life.logLevel, journal: nil), isStepped: true)
  }

  /// Turns until the keeper dies; nil if it lives.
  var turnsToLive: Int?

  func turn() {
    if let turns = turnsToLive {
      turnsToLive = turns - 1
      guard turns > 0 else { return killKeeper() }
    }
    do throws(Errno) {
      guard try keeper.turn(isWaiting: false) else { preconditionFailure("nobody ends the keeper") }
    } catch {
      preconditionFailure("the keeper cannot go on: \(error)")
    }
  }

  func turnUntilIdle() { for _ in 0..<8 { Kernel.turnKeeper() } }

  func killKeeper() {
    turnsToLive = nil
    do throws(Errno) {
      keeper = try Self.keeper(on: listener, capacity)
    } catch {
      preconditionFailure("there is no other keeper: \(error)")
    }
  }

  // MARK: What is there

  func has(cookie: UInt64) -> Bool { keeper.has(.connection(cookie)) }
  var isLogStored: Bool { stored.contains { $0.name == "state" } }
  var hasLog: Bool { isLogStored || keeperHasLog }
  var keeperHasLog: Bool { keeper.items.contains { $0.kind == .log } }
  /// The keeper waits for the next bus while both ends of a lease exist.
  var hasLease: Bool {
    keeper.has(.lease) && stored.contains { $0.name == "lease" && !Self.hasHungUp($0.descriptor) }
  }
  var left: [KeptItem] { keeper.items.filter { $0.kind == .connection || $0.kind == .file } }

  // MARK: systemd

  func take(_ text: String, _ descriptors: [CInt]) {
    let name =
      text.split(separator: "\n").first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst(7)) } ?? ""
    if text.hasPrefix("FDSTOREREMOVE=1") { return close { one, _ in one == name } }
    if name == "state" { mustHaveLog = true }
    stored += descriptors.map { (name, $0) }
  }

  func loseState() {
    guard !keeperHasLog else { return }
    close { name, _ in name == "state" }
    mustHaveLog = false
  }

  /// Copies for the next daemon, in any order.
  func passed(using random: inout SplitMix64) -> [(descriptor: CInt, name: String)] {
    close { name, descriptor in name == "lease" && Self.hasHungUp(descriptor) }
    return stored.shuffled(using: &random).map { one in
      (descriptor: fcntl(one.descriptor, F_DUPFD_CLOEXEC, 0), name: one.name)
    }
  }

  /// systemd drops a lease whose other end is closed.
  private static func hasHungUp(_ descriptor: CInt) -> Bool {
    var watched = pollfd(fd: descriptor, events: 0, revents: 0)
    return unsafe poll(&watched, 1, 0) == 1 && Int32(watched.revents) & POLLHUP != 0
  }

  private func close(_ isMeant: (String, CInt) -> Bool) {
    stored.removeAll { name, descriptor in
      guard isMeant(name, descriptor) else { return false }
      sim_keep(descriptor, 0)
      _ = Glibc.close(descriptor)
      return true
    }
  }

  func end() {
    close { _, _ in true }
  }
}
