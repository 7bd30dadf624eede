// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneServer
import TribuneWire

/// Brings most kinds of entries into a log, ends the bus, and checks the state of the daemon that takes the log over.
struct LogScene {
  enum End: String, CaseIterable, Sendable {
    case killed
    case handedOver = "handed-over"
  }

  static let configuration = "[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=256K\n"

  /// In the order in which they connect: their ids are 1 and on.
  private enum Role: Int, CaseIterable {
    case observer
    case delegate
    case asker
    case poster
    case idler
  }

  private static let awaitedSerial: Serial = 8
  private static let askSerial: Serial = 7
  /// In milliseconds: an hour.
  private static let deadline: UInt32 = 3_600_000
  /// Sent in two parts: before and after the end of the bus.
  private static let halfPost = RawClient.bytes {
    $0.appendFrame(Post(), serial: 20, name: "load.half", text: "a half and a half")
  }
  private static let halfLength = 21

  let end: End
  private(set) var clients: [RawClient] = []

  private subscript(_ role: Role) -> RawClient { clients[role.rawValue] }

  // MARK: Up to the end

  static func record(_ end: End) throws -> [SavedLog] {
    let bus = try RestartedBus(configuration: configuration)
    var scene = LogScene(end: end)
    for _ in Role.allCases { scene.clients.append(try RawClient.greeted(bus)) }
    try scene.begin()
    try bus.restart()
    switch end {
    case .killed:
      try scene.leaveDetached(on: bus)
      try scene.goOn(on: bus)
      try bus.die()
    case .handedOver:
      try scene.fillStreams()
      try RawClient.greeted(bus).settle()
      try bus.end(.planned)
    }
    let kinds: [KeptItem.Kind] = end == .handedOver ? [.log, .file] : [.log]
    return try bus.withKept { kept in try kinds.map { try SavedLog(of: kept.descriptor($0)) } }
  }

  private func begin() throws {
    try self[.observer].sendConfirmed(Observe(options: .awaited), serial: 1, name: "disk.*")
    try self[.observer].observe("load.*", serial: 2)
    try self[.delegate].attach(
      Attach(failurePolicy: .abstain, timeout: Self.deadline, label: "first", patterns: ["a.shouldB"]),
      serial: 1)
    try self[.delegate].sendConfirmed(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    try self[.idler].attach(
      Attach(failurePolicy: .abstain, timeout: Self.deadline, label: "idler", patterns: ["a.shouldC"]),
      serial: 1)
    try self[.poster].sendConfirmed(
      Post(options: .retain), serial: 1, name: "unit.state", object: "unit/a", text: "up"
    )
    try self[.asker].send(Ask(deadline: Self.deadline), serial: Self.askSerial, name: "a.shouldB")
    _ = try self[.delegate].nextQuestion()
    #expect(try self[.poster].ask("a.shouldD", Ask(flags: .begins), serial: 40).verdict == .allowed)
    try self[.poster].send(
      Post(options: .awaited, deadline: Self.deadline), serial: Self.awaitedSerial, name: "disk.willUnmount")
    _ = try self[.observer].next(.post)
  }

  private func leaveDetached(on bus: RestartedBus) throws {
    let client = try RawClient.observing("nothing.*", on: bus)
    try client.send(Array(Self.halfPost[..<Self.halfLength]))
    for client in clients { try client.settle() }
    try withExtendedLifetime(client) { try bus.crash() }
  }

  private func goOn(on bus: RestartedBus) throws {
    try self[.observer].observe("net.*", serial: 3)
    try RawClient.observing("load.*", on: bus).leave()
    try self[.poster].send(Post(style: .whenIdle), serial: 30, name: "load.idle")
    #expect(try self[.observer].next(.post).name == "load.idle")
    try self[.asker].ask("a.shouldB", Ask(deadline: 1), serial: 9)
    let text = String(repeating: "\0", count: 100_000)
    for serial in Serial(11)...16 {
      try self[.asker].send(Ask(deadline: Self.deadline), serial: serial, name: "a.shouldC", text: text)
    }
    let verdict = try self[.asker].nextVerdict()
    #expect(verdict.outcomes.map(\.outcome) == [.failed])
    try self[.asker].settle()
    try self[.idler].settle()
  }

  private func fillStreams() throws {
    try self[.poster].send(Array(Self.halfPost[..<Self.halfLength]))
    try self[.idler].sendConfirmed(Observe(suspension: .hold), serial: 2, name: "held.*")
    try self[.idler].sendConfirmed(Suspend(isSuspended: true), serial: 3)
    for serial in Serial(21)...22 {
      try self[.observer].sendConfirmed(Post(), serial: serial, name: "held.unit")
    }
  }

  // MARK: From the beginning of the next one

  static func expect(_ end: End, from saved: [SavedLog]) throws {
    let (bus, scene) = try takenOver(end, from: saved)
    let log = try bus.log()
    try #require(log.contains("took over 5 connections"), "\(log)")
    for flaw in ["cannot be", "damaged", "are closed"] { #expect(!log.contains(flaw), "\(log)") }
    try scene.expectAll(on: bus)
  }

  static func takenOver(_ end: End, from saved: [SavedLog]) throws -> (RestartedBus, LogScene) {
    let bus = try RestartedBus(configuration: configuration)
    try bus.die()
    var scene = LogScene(end: end)
    try bus.withKept { kept in
      try kept.remove(.connection)
      var cookies: [UInt64] = []
      for _ in Role.allCases {
        scene.clients.append(try RawClient(bus))
        cookies.append(try kept.accept())
      }
      var state = try #require(saved.first)
      for record in state.records {
        switch (record.kind, Int(clamping: record.connection) - 1) {
        // A connect entry has the cookie after the slot.
        case (2, let index) where cookies.indices.contains(index):
          state.set(cookies[index], at: 4, inBodyOf: record)
        // The hand-over's last entry has the inode of the file with the in-flight state.
        case (13, _):
          let inode = try kept.replace(.file, by: try #require(saved.last).file())
          state.set(inode, at: 0, inBodyOf: record)
        default: break
        }
      }
      try kept.replace(.log, by: state.file())
    }
    try bus.start()
    return (bus, scene)
  }

  private func expectAll(on bus: RestartedBus) throws {
    let (fresh, welcome) = try RawClient.welcomed(bus)
    #expect(welcome.connection.rawValue > UInt64(Role.allCases.count) + (end == .killed ? 1 : 0))

    try self[.delegate].send(
      Answer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), answer: .approve), serial: 0)
    let frame = try self[.asker].next(.verdict)
    #expect(frame.header.serial == Self.askSerial)
    let verdict = try frame.decode(Verdict.self)
    #expect(verdict.query == QueryID(rawValue: 1))
    #expect(verdict.verdict == .allowed)
    #expect(verdict.outcomes.map(\.delegate.label) == ["first"])
    try self[.observer].send(
      Done(poster: ConnectionID(rawValue: UInt64(Role.poster.rawValue) + 1), post: Self.awaitedSerial),
      serial: 4)
    #expect(try self[.poster].next(.awaited).header.serial == Self.awaitedSerial)

    #expect(try fresh.ask("host.shouldReboot", serial: 1).outcomes.map(\.reason) == ["backup"])
    try fresh.send(Hold(), serial: 9, name: "a.shouldD", text: "too late")
    #expect(try fresh.next(.ok).decode(Okay.self).late == 1)
    try fresh.send(Observe(options: .retained), serial: 2, name: "unit.*")
    let retained = try fresh.next(.retained)
    #expect((retained.object, retained.payload) == ("unit/a", "up"))
    let chain = try fresh.list(List(.chain), name: "a.shouldC")
    #expect(chain.count == 1)
    if end == .handedOver { try expectStreams() }
    for name in ["load.unit", "disk.unit"] + (end == .killed ? ["net.unit"] : []) {
      try fresh.send(Post(), serial: 5, name: name)
      #expect(try self[.observer].next(.post).name == name)
    }
    for client in clients { try client.settle() }
  }

  private func expectStreams() throws {
    try self[.poster].send(Array(Self.halfPost[Self.halfLength...]))
    #expect(try self[.observer].next(.post).payload == "a half and a half")
    try self[.idler].send(Suspend(isSuspended: false), serial: 4)
    for serial in Serial(21)...22 { #expect(try self[.idler].next(.post).header.serial == serial) }
  }
}
