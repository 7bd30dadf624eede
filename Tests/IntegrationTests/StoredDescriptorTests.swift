// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// What the service manager passes that an earlier daemon, or somebody else, has had stored.
@Suite("Stored descriptors", .timeLimit(.minutes(2)))
struct StoredDescriptorTests {
  private func expectService(_ bus: TestBus) throws {
    try RawClient.greeted(bus).settle()
  }

  /// A daemon that was started with these, and a socket to listen on, by a manager that keeps so many descriptors.
  private func start(with stored: [Activation.Socket], kept: Int?) throws -> TestBus {
    let folder = try TestFolder()
    return try TestBus(
      environment: kept.map { ["TRIBUNE_FDSTORE": String($0)] } ?? [:],
      wrapper: Activation.wrapper([.init(path: "\(folder.path)/bus")] + stored), arguments: [], folder: folder
    )
  }

  @Test("a store with foreign descriptors is cleared of them, in few words, and the bus serves")
  func foreign() throws {
    let odd = [Activation.Socket](repeating: .init(kind: .file, name: "odd"), count: 100)
    let stored = odd + [.init(kind: .file, name: "c"), .init(kind: .connected, name: "odder")]
    let bus = try start(with: stored, kept: 20_000)
    try expectService(bus)
    for name in ["odd", "odder"] {
      let removal = "FDSTOREREMOVE=1\nFDNAME=\(name)"
      if !bus.notifySocket.received.contains(removal) { try bus.notifySocket.wait(until: { $0 == removal }) }
    }
    let log = try bus.log()
    #expect(log.contains("what is not the bus's was in the service manager's store: \"odd\" (no listening"))
    #expect(log.contains(" and 92 more\n"))
    #expect(log.split(separator: "\n").count < 10)
  }

  @Test("connections and files that nobody speaks of do not keep the bus from serving, nor fill the log")
  func unknown() throws {
    let connections = [Activation.Socket](repeating: .init(kind: .connected, name: "c"), count: 300)
    let files = (0..<100).map { Activation.Socket(kind: .file, name: "f" + String($0, radix: 36)) }
    let bus = try start(
      with: (connections + files).shuffled() + [.init(kind: .file, name: "state")], kept: 20_000)
    try expectService(bus)
    #expect(try bus.log().split(separator: "\n").count < 10)
  }

  @Test("a store that is too small, and none, are spoken of at the start")
  func capacity() throws {
    let small = try start(with: [], kept: 10)
    try expectService(small)
    #expect(
      try small.log().contains(
        "not all connections survive a restart: the service manager keeps 10 descriptors"))
    let none = try start(with: [], kept: nil)
    try expectService(none)
    #expect(
      try none.log().contains(
        "the service manager keeps no descriptors, and no connection survives a restart"))
  }

  @Test("where the state has no room, no connection is listed as one that survives")
  func noState() throws {
    // All places are taken until connections that nobody knows are closed.
    let bus = try start(
      with: [Activation.Socket](repeating: .init(kind: .connected, name: "c"), count: 5), kept: 5)
    let client = try RawClient.greeted(bus)
    #expect(try bus.log().contains("the state cannot be stored, and no connection survives a restart"))
    let entries = try client.list(List(.connections)).compactMap { entry in
      if case .connection(let connection) = entry { connection } else { nil }
    }
    #expect(entries.map(\.isSurviving) == [false])
  }

  @Test("a connection for which the store has no room works, and is listed as one that does not survive")
  func full() throws {
    // The state, two connections, and two places for what a hand-over stores.
    let bus = try start(with: [], kept: 5)
    let first = try RawClient.greeted(bus)
    let second = try RawClient.greeted(bus)
    let (third, welcome) = try RawClient.welcomed(bus)
    try third.settle()
    let entries = try first.list(List(.connections)).compactMap { entry in
      if case .connection(let connection) = entry { connection } else { nil }
    }
    #expect(entries.map(\.isSurviving) == [true, true, false])

    let listed = try bus.tribunectl("list").lines.filter {
      $0.split(separator: " ").first == "\(welcome.connection)"
    }
    #expect(listed.count == 1)
    #expect(listed.first?.contains("  not surviving  ") == true)
    let status = try bus.tribunectl("status", "\(welcome.connection)")
    #expect(status.output.contains("State: not surviving: a restart of the bus closes it\n"))
    let object = try bus.tribunectl("status", "\(welcome.connection)", "-j").object()
    #expect(object["surviving"] as? Bool == false)

    // It has the place of one that goes.
    second.endSending()
    try bus.wait(serving: first) {
      try first.list(List(.connections)).contains { entry in
        guard case .connection(let connection) = entry else { return false }
        return connection.id == welcome.connection && connection.isSurviving
      }
    }
  }
}
