// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

/// What was decided under one configuration is not decided again under another when the log is replayed.
@Suite("A log of another configuration", .timeLimit(.minutes(15)))
struct ReplayedConfigurationTests {
  /// What is in force before the daemon dies, and what afterwards.
  enum Change: CaseIterable, Codable {
    case requirement, times, overriders

    fileprivate var configuration: Configuration {
      var configuration = Configuration()
      switch self {
      case .requirement:
        configuration.policy.requirements = [.init(pattern: .any, names: ["guard.service"])]
      case .times:
        configuration.delegateTimeoutNanoseconds = 1_000_000
        configuration.deadlineNanoseconds = 1_000_000
      case .overriders: configuration.policy.overriders = .users([])
      }
      return configuration
    }
  }

  /// How the configuration comes into the log before that which it decides.
  enum Entry: CaseIterable, Codable {
    case compaction, reload
  }

  /// An asker whose query is under way, and the delegate that it waits for.
  @MainActor private struct Asked {
    let bus: SteppedBus
    let delegate: SteppedBus.Client
    let asker: SteppedBus.Client

    /// - Parameter prepare: has a configuration logged, or not.
    init(_ configuration: Configuration, overrides: Bool, prepare: (BusServer) -> Void) throws {
      bus = try SteppedBus(configuration)
      (delegate, asker) = (try bus.client(), try bus.client())
      prepare(bus.server)
      try delegate.send(Attach(patterns: ["load.*"]), serial: 1)
      try bus.pass(delegate)
      let ask = overrides ? Ask(flags: .overrides, overrideReason: "it burns") : Ask()
      try asker.send(ask, serial: 1, name: "load.shouldStop")
      try bus.pass(asker)
      let asked = try delegate.frames().last?.kind
      try #require(asked == .question)
      // Time goes by, and that is in the log.
      let due = bus.server.context.now.advanced(byMilliseconds: 2)
      repeat { bus.beginIteration() } while bus.server.context.now < due
      try delegate.send(Observe(), serial: 2, name: "other")
      try bus.pass(delegate)
    }

    /// What the asker is told by the next daemon, before its delegate has approved and afterwards.
    func told(by next: SteppedBus) throws -> (before: [FrameKind?], after: [FrameKind?]) {
      let before = try asker.frames().map(\.kind)
      let answer = Answer(
        query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), answer: .approve)
      try delegate.send(answer, serial: 3)
      if before.isEmpty { try next.pass(delegate) }
      return (before, try asker.frames().map(\.kind))
    }
  }

  @Test(
    "a query goes on as it was asked, whatever is configured when the next daemon starts",
    arguments: Change.allCases, Entry.allCases)
  func underWay(_ change: Change, entry: Entry) async {
    await #expect(processExitsWith: .success) { [change, entry] in
      try await MainActor.run {
        let before = entry == .reload ? change.configuration : Configuration()
        let asked = try Asked(before, overrides: change == .overriders) { server in
          switch entry {
          case .compaction: server.recorder.compactor.compactNow(at: server.context.now)
          case .reload: server.reconfigure(Configuration())
          }
        }
        let next = try asked.bus.successor(change.configuration)
        let (policy, limits) = (
          next.server.interpreter.bus.value.policy, next.server.interpreter.bus.value.limits
        )
        #expect(policy == change.configuration.policy)
        #expect(limits == change.configuration.busLimits)
        let told = try asked.told(by: next)
        #expect(told.before == [] && told.after == [.verdict])
        #expect(
          next.server.interpreter.bus.value.askedCount == 1
            && next.server.interpreter.bus.value.vetoedCount == 0)
      }
    }
  }

  @Test("a delegate keeps the timeout that it was given, also when the log has been compacted since")
  func timeout() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let asked = try Asked(Configuration(), overrides: false) { _ in }
        asked.bus.server.reconfigure(Change.times.configuration)
        asked.bus.server.recorder.compactor.compactNow(at: asked.bus.server.context.now)
        var bus = asked.bus
        for _ in 1...2 {
          bus = try bus.successor()
          let timeouts = bus.server.interpreter.bus.value.delegateEntries(of: 0).map(\.timeout)
          #expect(timeouts == [5_000])
        }
      }
    }
  }

  /// Why today's configuration is all that the replay can go by.
  enum Lack: CaseIterable, Codable {
    /// An older daemon wrote the log.
    case older
    /// The configuration was longer than is kept in a log.
    case tooLong
  }

  @Test("a log that lacks the configuration is replayed by today's", arguments: Lack.allCases)
  func lacking(_ lack: Lack) async {
    await #expect(processExitsWith: .success) { [lack] in
      try await MainActor.run {
        var configuration = Configuration()
        configuration.stateMaxBytes = 1 << 20
        if lack == .tooLong {
          let names = (0..<20_000).map { "guard\($0).service" }
          configuration.policy.requirements = [.init(pattern: try Pattern("other.*"), names: names)]
        }
        let asked = try Asked(configuration, overrides: true) { server in
          if lack == .tooLong { server.recorder.compactor.compactNow(at: server.context.now) }
        }
        let entries = asked.bus.loggedConfigurations
        let expected: [[UInt8]] = lack == .tooLong ? [[]] : []
        #expect(entries == expected)
        let next = try asked.bus.successor(Change.overriders.configuration)
        // It may not ask that any more, and has to connect again.
        let told = try asked.asker.frames().map(\.kind)
        #expect(told == [.error])
        withExtendedLifetime(next) {}
      }
    }
  }

  @Test("a full log has another configuration all the same")
  func full() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let bus = try SteppedBus()
        let client = try bus.client()
        for serial in Serial(1)...100 { try client.send(Observe(), serial: serial, name: "load.n\(serial)") }
        repeat { try bus.pass(client) } while bus.server.interpreter.bus.value.observationCount < 100
        let server = bus.server
        server.recorder.compactor.compactNow(at: server.context.now)
        var configuration = Change.requirement.configuration
        configuration.stateMaxBytes = server.recorder.wal.usedLength
        server.reconfigure(configuration)
        server.recorder.commit()
        let expected = ByteBuffer(capacity: 256)
        server.interpreter.bus.value.appendConfiguration(to: expected)
        #expect(bus.loggedConfigurations.last == expected.array)
        #expect(server.recorder.wal.usedLength > server.recorder.wal.admissionLimit)
      }
    }
  }
}

extension SteppedBus {
  /// The bodies of the entries that say which configuration is in force.
  fileprivate var loggedConfigurations: [[UInt8]] {
    var bodies: [[UInt8]] = []
    _ = server.recorder.wal.forEachEntry { entry in
      if entry.kind == .configuration { bodies.append(Array(entry.body)) }
    }
    return bodies
  }
}
