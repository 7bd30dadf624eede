// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneServer
import TribuneSystem
import TribuneTestSupport

/// What keeps the bus's descriptors, as systemd does: it starts one daemon after the other, and passes on what the last
/// one has had stored.
final class SystemdStore {
  private struct Stored {
    let name: String
    let descriptor: CInt
    /// Of a connection.
    let cookie: UInt64
  }

  let capacity: Int
  private var stored: [Stored] = []
  /// It had no room for something, of which it says nothing.
  private(set) var hasEverDropped = false
  /// The bus has stored its state, and it has not been lost here.
  private(set) var mustHaveState = false

  init(capacity: Int) { self.capacity = capacity }

  /// A notification has come.
  func take(_ text: String, _ descriptors: [CInt]) {
    var name = ""
    for line in text.split(separator: "\n") where line.hasPrefix("FDNAME=") {
      name = String(line.dropFirst(7))
    }
    if text.hasPrefix("FDSTOREREMOVE=1") {
      for one in stored where one.name == name { close(one.descriptor) }
      stored.removeAll { $0.name == name }
      return
    }
    dropHungUp()
    for descriptor in descriptors {
      guard stored.count < capacity else {
        hasEverDropped = true
        close(descriptor)
        continue
      }
      if name == "state" { mustHaveState = true }
      stored.append(Stored(name: name, descriptor: descriptor, cookie: Self.cookie(of: descriptor)))
    }
  }

  /// It watches connections, and lets go of those that have hung up.
  func dropHungUp() {
    stored.removeAll { one in
      guard one.name == "c" else { return false }
      var watched = pollfd(fd: one.descriptor, events: 0, revents: 0)
      guard unsafe poll(&watched, 1, 0) == 1, Int32(watched.revents) & POLLHUP != 0 else { return false }
      close(one.descriptor)
      return true
    }
  }

  func has(cookie: UInt64) -> Bool { stored.contains { $0.cookie == cookie && $0.name == "c" } }
  var hasState: Bool { stored.contains { $0.name == "state" } }
  var names: [String] { stored.map(\.name).sorted() }

  /// Loses the bus's state.
  func loseState() {
    for one in stored where one.name == "state" { close(one.descriptor) }
    stored.removeAll { $0.name == "state" }
    mustHaveState = false
  }

  /// Loses all files but those.
  func loseFiles(besides kept: [String]) {
    func isLost(_ one: Stored) -> Bool { one.name.hasPrefix("f") && !kept.contains(one.name) }
    for one in stored where isLost(one) { close(one.descriptor) }
    stored.removeAll(where: isLost)
  }

  /// Loses a connection that it was to keep.
  ///
  /// - Returns: its cookie.
  func lose(using random: inout SplitMix64) -> UInt64? {
    let connections = stored.indices.filter { stored[$0].name == "c" }
    guard let index = connections.randomElement(using: &random) else { return nil }
    let lost = stored.remove(at: index)
    close(lost.descriptor)
    return lost.cookie
  }

  /// Passes copies of everything to the next daemon, in any order.
  func passed(using random: inout SplitMix64) -> [(descriptor: CInt, name: String)] {
    stored.shuffled(using: &random).map { one in
      (descriptor: fcntl(one.descriptor, F_DUPFD_CLOEXEC, 0), name: one.name)
    }
  }

  func end() {
    for one in stored { close(one.descriptor) }
    stored = []
  }

  private func close(_ descriptor: CInt) {
    sim_keep(descriptor, 0)
    _ = Glibc.close(descriptor)
  }

  private static func cookie(of descriptor: CInt) -> UInt64 {
    var cookie: UInt64 = 0
    var length = socklen_t(MemoryLayout<UInt64>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0
  }
}
