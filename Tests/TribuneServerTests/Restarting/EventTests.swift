// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

/// What one event causes is known by the next daemon as a whole, in its order, and before anybody has heard of it.
@Suite("Events", .timeLimit(.minutes(15)))
struct EventTests {
  // MARK: What is due

  /// An asker, and a delegate that does not answer.
  @MainActor private struct Overdue {
    let bus: SteppedBus
    let delegate: SteppedBus.Client
    let asker: SteppedBus.Client

    init(_ configuration: Configuration = Configuration(), queries: Serial = 1) throws {
      bus = try SteppedBus(configuration)
      (delegate, asker) = (try bus.client(), try bus.client())
      try delegate.send(Attach(timeout: 50, patterns: ["load.*"]), serial: 1)
      try bus.pass(delegate)
      for serial in 1...queries { try asker.send(Ask(), serial: serial, name: "load.shouldStop") }
      repeat { try bus.pass(asker) } while bus.server.hasWork
      let questions = try delegate.frames().count { $0.kind == .question }
      try #require(questions == queries)
    }

    /// The serials of the verdicts that the asker has been told.
    func verdicts() throws -> [Serial] {
      try asker.frames().filter { $0.kind == .verdict }.map(\.serial)
    }
  }

  @Test("what is due when a frame comes that does nothing is told by the next daemon, if this one dies then")
  func dueAtFrame() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let overdue = try Overdue()
        let other = try overdue.bus.client()
        try other.send(Succeed(predecessor: ConnectionID(rawValue: 99), received: 0), serial: 1)
        overdue.bus.beginPassWhenDue()
        try overdue.bus.read(other)
        let before = try overdue.verdicts()
        let next = try overdue.bus.successor()
        let after = try overdue.verdicts()
        let told = try overdue.delegate.frames().count { $0.kind == .concluded }
        #expect(before == [] && after == [1] && told == 1)
        withExtendedLifetime(next) {}
      }
    }
  }

  @Test("what is due is told once, also if the daemon dies as soon as it has done it")
  func dueOnce() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        // Verdicts of more than an eighth of that are sent before the pass ends.
        var configuration = Configuration()
        (configuration.highMarkBytes, configuration.lowMarkBytes) = (64 << 10, 16 << 10)
        configuration.hardLimitBytes = 64 << 10
        let overdue = try Overdue(configuration, queries: 100)
        overdue.bus.beginPassWhenDue()
        while overdue.bus.server.queryCount > 0 {
          overdue.bus.beginPass()
          overdue.bus.server.advance()
        }
        let before = try overdue.verdicts()
        let next = try overdue.bus.successor()
        let after = try overdue.verdicts()
        #expect(!before.isEmpty)
        #expect((before + after).sorted() == Array(1...100))
        withExtendedLifetime(next) {}
      }
    }
  }

  // MARK: Who has not been greeted

  @Test(
    "who has said hello is greeted first by the next daemon, and goes on unless it was sending a frame",
    arguments: [nil, 20])
  func greeting(cut: Int?) async {
    await #expect(processExitsWith: .success) { [cut] in
      try await MainActor.run {
        let bus = try SteppedBus()
        let stranger = try bus.stranger()
        let frame = ByteBuffer(capacity: 256)
        frame.appendFrame(Observe(), serial: 1, name: "load.*")
        if let cut { frame.truncate(to: cut) }
        try stranger.send(frame)
        try bus.read(stranger)
        let before = try stranger.frames().count
        let next = try bus.successor()
        next.endPass()
        let after = try stranger.frames(isGreeting: true).map(\.kind)
        #expect(before == 0 && after == (cut == nil ? [.welcome, .ok] : [.error]))
      }
    }
  }

  // MARK: What finds no room

  /// Something that an event causes.
  enum Caused: CaseIterable {
    case kept, forgotten, waiting, waitsNoMore

    /// What a record is about.
    fileprivate init?(_ record: RecordCopy) {
      switch record.kind {
      // It begins with whether there is something.
      case .retained: self = record.body.first == 1 ? .kept : .forgotten
      case .waiting: self = .waiting
      case .waitsNoMore: self = .waitsNoMore
      default: return nil
      }
    }

    @MainActor fileprivate func effect(length: Int) -> Effect {
      let text = String(repeating: "x", count: length)
      switch self {
      case .kept: return .kept(EventTests.retained(text))
      case .forgotten: return .forgotten(name: "unit.state", object: "")
      case .waiting:
        let frame = ByteBuffer(capacity: length + 256)
        frame.appendFrame(Post(style: .whenIdle), serial: 1, name: "unit.state", text: text)
        return .waiting(
          ByteSlice(frame, 0..<frame.count), number: 1, from: ConnectionID(rawValue: 1), uid: 0)
      case .waitsNoMore: return .waitsNoMore(1)
      }
    }
  }

  fileprivate static func retained(
    _ text: String, name: String = "unit.state", file: (any AttachedFile)? = nil
  ) -> RetainedNotification {
    let buffer = ByteBuffer(capacity: text.utf8.count + 16, attachment: file)
    buffer.append(name)
    buffer.append(text)
    return RetainedNotification(
      tail: QueryTail(
        slice: ByteSlice(buffer, 0..<buffer.count), nameLength: name.utf8.count, objectLength: 0),
      sender: ConnectionID(rawValue: 1), uid: 0, posted: Instant(nanoseconds: 1))
  }

  @Test(
    "nothing of an event is written before what came before it, should that have no room until it has ended",
    arguments: [Caused.kept, .waiting], Caused.allCases)
  func order(first: Caused, second: Caused) async {
    await #expect(processExitsWith: .success) { [first, second] in
      try await MainActor.run {
        let bus = try Self.crowdedBus()
        let server = bus.server
        let before = server.state.usedLength
        server.beginEvent()
        server.carryOut(first.effect(length: 200_000))
        server.carryOut(second.effect(length: 100))
        #expect(server.state.usedLength == before)
        server.endEvent()
        let written = server.state.contents().records.suffix(2).map { Caused($0) }
        #expect(written == [first, second])
      }
    }
  }

  @Test("a file that is retained no more stays stored until that is written down")
  func forgottenFile() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let bus = try Self.crowdedBus()
        let server = bus.server
        let store = try #require(server.store)
        let file = HeldFile(countedIn: server.filesHeld, server.files(of: 0), user: 0)
        file.hold(try StateImage([1, 2, 3]).file(), length: 3)
        server.carryOut(.kept(Self.retained("", name: "unit.file", file: file)))
        let stored = store.count
        server.beginEvent()
        server.carryOut(Caused.kept.effect(length: 200_000))
        server.carryOut(.forgotten(name: "unit.file", object: ""))
        server.commitState()
        #expect(store.count == stored)
        server.endEvent()
        #expect(store.count == stored - 1)
      }
    }
  }

  /// One in whose state nothing long has room before it is swept, which is worth it.
  @MainActor private static func crowdedBus() throws -> SteppedBus {
    var configuration = Configuration()
    configuration.stateMaxBytes = 1 << 20
    let bus = try SteppedBus(configuration)
    while bus.server.state.usedLength < 900_000 { bus.server.carryOut(Caused.kept.effect(length: 60_000)) }
    return bus
  }
}

extension EventTests.Caused: Codable, Sendable {}
