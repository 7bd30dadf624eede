// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLog
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

/// A replay decides as the last daemon did, under the configuration of the log.
@MainActor
@Suite("A log of another configuration", .timeLimit(.minutes(15)))
struct ReplayedConfigurationTests {
  /// A setting that differs between two daemons.
  enum Change: CaseIterable {
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

  /// How the configuration gets into the log before the frames that it applies to.
  enum Entry: CaseIterable {
    case compaction, reload
  }

  /// A query under way: its asker, and the delegate that has not answered.
  @MainActor private struct Asked {
    let bus: SteppedBus
    let delegate: SteppedBus.Client
    let asker: SteppedBus.Client

    /// - Parameter prepare: may log a configuration.
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
      // Time passes, and the log has an entry from afterwards.
      let due = bus.server.context.now.advanced(byMilliseconds: 2)
      repeat { bus.beginIteration() } while bus.server.context.now < due
      try delegate.send(Observe(), serial: 2, name: "other")
      try bus.pass(delegate)
    }

    /// The frames that the next daemon sends to the asker, before its delegate approves and afterwards.
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
    "a query goes on as it was asked, even if the next daemon has another configuration",
    arguments: Change.allCases, Entry.allCases)
  func underWay(_ change: Change, entry: Entry) throws {
    let before = entry == .reload ? change.configuration : Configuration()
    let asked = try Asked(before, overrides: change == .overriders) { server in
      switch entry {
      case .compaction: server.recorder.compactNow()
      case .reload: server.reconfigure(Configuration())
      }
    }
    let next = try asked.bus.successor(change.configuration)
    let (policy, limits) = (
      next.server.bus.value.policy, next.server.interpreter.bus.value.limits
    )
    #expect(policy == change.configuration.policy)
    #expect(limits == change.configuration.busLimits)
    let told = try asked.told(by: next)
    #expect(told.before == [] && told.after == [.verdict])
    #expect(
      next.server.bus.value.totals.asked == 1
        && next.server.bus.value.totals.vetoed == 0)
  }

  /// Why the log lacks its configuration.
  enum Lack: CaseIterable {
    /// An older daemon wrote the log.
    case older
    /// The configuration was too long for the log.
    case tooLong
  }

  @Test(
    "a log that lacks the configuration is replayed under that of the next daemon", arguments: Lack.allCases)
  func lacking(_ lack: Lack) throws {
    var configuration = Configuration()
    configuration.logMaxBytes = 1 << 20
    if lack == .tooLong {
      let names = (0..<20_000).map { "guard\($0).service" }
      configuration.policy.requirements = [.init(pattern: try Pattern("other.*"), names: names)]
    }
    let asked = try Asked(configuration, overrides: true) { server in
      if lack == .tooLong { server.recorder.compactNow() }
    }
    let entries = asked.bus.loggedConfigurations
    let expected: [[UInt8]] = lack == .tooLong ? [[]] : []
    #expect(entries == expected)
    let next = try asked.bus.successor(Change.overriders.configuration)
    // The asker may not override any more, and has to reconnect.
    let told = try asked.asker.frames().map(\.kind)
    #expect(told == [.error])
    withExtendedLifetime(next) {}
  }

  @Test("a full log still takes another configuration")
  func full() throws {
    let bus = try SteppedBus()
    let client = try bus.client()
    for serial in Serial(1)...100 { try client.send(Observe(), serial: serial, name: "load.n\(serial)") }
    repeat { try bus.pass(client) } while bus.server.bus.value.observationCount < 100
    let server = bus.server
    server.recorder.compactNow()
    var configuration = Change.requirement.configuration
    configuration.logMaxBytes = server.wal.usedLength
    server.reconfigure(configuration)
    server.recorder.commit()
    let expected = ByteBuffer(capacity: 256)
    server.bus.value.appendConfiguration(to: expected)
    #expect(bus.loggedConfigurations.last == expected.array)
    #expect(server.wal.usedLength > server.wal.admissionLimit)
  }
}

extension SteppedBus {
  /// The bodies of the configuration entries.
  fileprivate var loggedConfigurations: [[UInt8]] {
    var bodies: [[UInt8]] = []
    _ = server.wal.forEachEntry { entry in
      if entry.kind == .configuration { bodies.append(Array(entry.body)) }
    }
    return bodies
  }
}
