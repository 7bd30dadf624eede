// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("Long lists")
struct LongListTests {
  private let clock = SteppingClock()
  private let bus: SteppedBus
  private let observers: [SteppedBus.Client]

  init() throws {
    bus = try SteppedBus(clock)
    var observers: [SteppedBus.Client] = []
    for _ in 0..<5 {
      let client = try bus.client()
      for serial in 1...3 as ClosedRange<Serial> {
        try client.send(Observe(), serial: serial, name: "a.n\(serial)")
        try bus.pass(client)
      }
      _ = try client.frames()
      observers.append(client)
    }
    self.observers = observers
  }

  private func send<F: FrameFields>(
    _ fields: F, _ serial: Serial, name: String = "", object: String = "", text: String = "",
    by client: SteppedBus.Client
  ) throws {
    let frame = ByteBuffer(capacity: 1024)
    frame.appendFrame(fields, serial: serial, name: name, object: object, text: text)
    try client.send(frame)
    try bus.pass(client)
  }

  /// Calls `send` 15 times: with each observer, and three serials.
  private func forEach(_ send: (SteppedBus.Client, Serial) throws -> Void) rethrows {
    for client in observers { for serial in 4...6 as ClosedRange<Serial> { try send(client, serial) } }
  }

  /// Makes 15 entries of the subject, of which two are the connections that the test then makes.
  ///
  /// - Returns: further clients, which stay connected as long as they are used.
  private func fill(_ subject: ListSubject) throws -> [SteppedBus.Client] {
    var others: [SteppedBus.Client] = []
    switch subject {
    case .connections: for _ in observers.count..<13 { others.append(try bus.client()) }
    case .departed:
      for _ in 0..<15 {
        others.append(try bus.client())
        bus.server.sessions.closeLater(try bus.session(of: try #require(others.last)))
        try bus.pass()
      }
    case .delegates, .chain, .participants:
      try forEach { try send(Attach(label: "\($0.id) \($1)", patterns: ["a.shouldB"]), $1, by: $0) }
      guard subject == .participants else { break }
      try send(Ask(), 7, name: "a.shouldB", by: observers[0])
      var delegate: UInt64 = 0
      try forEach { client, _ in
        delegate += 1
        let answer = Answer(
          query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: delegate), answer: .approve)
        try send(answer, 0, by: client)
      }
    case .holds: try forEach { try send(Hold(), $1, name: "a.shouldB", text: "busy", by: $0) }
    case .queries:
      try send(Attach(patterns: ["a.shouldB"]), 7, by: observers[0])
      try forEach { try send(Ask(), $1, name: "a.shouldB", by: $0) }
    case .names, .verdicts:
      bus.server.context.log.level = .info
      defer { bus.server.context.log.level = .error }
      try forEach { try send(Ask(), $1, name: "a.\($0.id.rawValue).n\($1).shouldB", by: $0) }
    case .objects, .protocols:
      try forEach {
        let name = "P\($0.id.rawValue)x\($1)"
        try send(Declare(protocolName: name), $1, object: "o/\(name)", text: "protocol \(name) {}", by: $0)
      }
    case .members:
      let methods = (0..<15).map { "optional did p.didX\($0) ()" }.joined(separator: "\n")
      try send(Declare(), 7, text: "protocol P {\n\(methods)\n}", by: observers[0])
    case .retained:
      try forEach {
        try send(Post(options: .retain), $1, name: "b.n\($0.id.rawValue)x\($1)", text: "1", by: $0)
      }
    case .observations, .bus, .access, .endings, .accounts, .users: break
    }
    for client in observers { _ = try client.frames() }
    return others
  }

  @Test(
    "are complete, and other clients are served before their ends",
    arguments: Set(ListSubject.allCases).subtracting([.bus, .access, .endings, .accounts, .users]).sorted {
      $0.rawValue < $1.rawValue
    })
  func parts(_ subject: ListSubject) throws {
    let others = try fill(subject)
    defer { withExtendedLifetime(others) {} }
    let (lister, other) = (try bus.client(), try bus.client())
    let frames = ByteBuffer(capacity: 256)
    frames.appendFrame(
      List(subject), serial: 1, name: subject == .chain ? "a.shouldB" : "",
      object: subject == .members ? "P" : "")
    frames.appendFrame(Suspend(isSuspended: false), serial: 2)
    try lister.send(frames)
    // Verdicts of other tests' buses are in the same log.
    let count = subject == .verdicts ? bus.server.context.log.recentVerdicts.count : 15
    clock.step = TimeShares.iterationNanosecondsMax
    try bus.pass(lister)
    var listed: [(kind: FrameKind?, serial: Serial)] = []
    var longest = 0
    while !listed.contains(where: { $0.kind == .ok }) {
      try other.send(Suspend(isSuspended: false), serial: 7)
      try bus.pass(other)
      try bus.pass()
      #expect(try other.frames().map(\.serial) == [7])
      let part = try lister.frames()
      longest = max(longest, part.count { $0.kind == .entry })
      listed += part
      try #require(!listed.contains { $0.kind == .error })
    }
    #expect((1...6).contains(longest))
    while bus.server.hasWork { try bus.pass() }
    listed += try lister.frames()
    #expect(count >= 15 && listed.map(\.kind) == Array(repeating: .entry, count: count) + [.ok, .ok])
    #expect(listed.last?.serial == 2)
  }

  @Test("take turns, and one whose client leaves delays no other")
  func turns() throws {
    let (one, two) = (try bus.client(), try bus.client())
    clock.step = TimeShares.iterationNanosecondsMax
    for client in [one, two] { try client.send(List(.observations), serial: 1) }
    try bus.pass(one, two)
    for _ in 0..<2 { try bus.pass() }
    bus.server.sessions.closeLater(try bus.session(of: one))
    var frames: [(kind: FrameKind?, serial: Serial)] = []
    while bus.server.hasWork {
      try bus.pass()
      frames += try two.frames()
    }
    #expect(frames.count == 16 && frames.last?.kind == .ok)
  }

  @Test("share a part of an iteration, however many clients ask")
  func shared() throws {
    for client in observers { try client.send(List(.connections), serial: 9) }
    clock.step = TimeShares.listNanosecondsMax
    bus.beginIteration()
    for client in observers { try bus.read(client) }
    bus.endIteration()
    var kinds: [FrameKind?] = []
    repeat {
      let part = try observers.flatMap { try $0.frames().map(\.kind) }
      #expect(part.count { $0 == .entry } <= 1)
      kinds += part
      try bus.pass()
    } while bus.server.hasWork
    kinds += try observers.flatMap { try $0.frames().map(\.kind) }
    #expect(kinds.count { $0 == .entry } == 25 && kinds.count { $0 == .ok } == 5)
  }
}
