// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct QueryTests {
  @Test(
    arguments: [
      (nil, false, false, []), ("it burns", false, false, .overrides), (nil, true, false, .isDryRun),
      (nil, false, true, .wantsProgress), ("it burns", true, true, [.overrides, .isDryRun, .wantsProgress]),
    ] as [(String?, Bool, Bool, QueryFlags)])
  func theFlagsOfAQueryReachTheBus(
    override: String?, isDryRun: Bool, wantsProgress: Bool, flags: QueryFlags
  ) async throws {
    let asked = try await conversation { peer in
      let ask = try peer.next(.ask)
      let verdict = TribuneWire.Verdict(
        query: QueryID(rawValue: 5), verdict: .allowed, isUnanswered: false,
        outcomes: [
          .init(delegate: identity(3, ""), outcome: .held, reason: "a restore", elapsed: 0)
        ], isOverridden: override != nil, isDryRun: isDryRun)
      try peer.send(verdict, serial: ask.serial)
      return try ask.decode(Ask.self)
    } client: { connection in
      let ignore: @Sendable (Tribune.Progress) -> Void = { _ in }
      let verdict = try await connection.ask(
        "a.shouldB", override: override, isDryRun: isDryRun, progress: wantsProgress ? ignore : nil)
      #expect(verdict.isAllowed)
      #expect(verdict.isOverridden == (override != nil))
      #expect(verdict.isDryRun == isDryRun)
      #expect(verdict.outcomes.map(\.kind) == [.held])
      #expect(verdict.outcomes.map(\.value) == [nil])
    }
    #expect(asked == Ask(flags: flags, overrideReason: override ?? ""))
  }

  @Test func anOverrideNeedsItsReason() async throws {
    try await expectSilence { connection in
      #expect(await failure { try await connection.ask("a.shouldB", override: "") }?.code == .refused)
    }
  }

  @Test func theAskerReceivesTheProgressOfEachDelegate() async throws {
    try await conversation { peer in
      let ask = try peer.next(.ask)
      let stages: [(ProgressStage, OutcomeKind, String)] = [
        (.asked, .approved, ""), (.deferred, .approved, "half done"), (.settled, .vetoed, "no"),
      ]
      for (stage, outcome, text) in stages {
        try peer.send(
          TribuneWire.Progress(
            query: QueryID(rawValue: 5), delegate: identity(3, "steward"), timeout: 5000, stage: stage,
            outcome: outcome),
          serial: ask.serial, text: text)
      }
      try peer.reply(to: ask)
    } client: { connection in
      let told = Mutex<[Tribune.Progress]>([])
      _ = try await connection.ask("a.shouldB") { progress in told.withLock { $0.append(progress) } }
      let progress = told.withLock { $0 }
      #expect(progress.map(\.stage) == [.asked, .deferred, .settled(.vetoed)])
      #expect(progress.map(\.status) == ["", "half done", "no"])
      #expect(progress.allSatisfy { $0.query == 5 && $0.label == "steward" && $0.timeout == .seconds(5) })
    }
  }

  @Test(arguments: [
    (true, QueryMode.collect), (false, .first),
  ])
  func aValueQueryReturnsTheValuesInTheChainsOrder(collects: Bool, mode: QueryMode) async throws {
    let asked = try await conversation { peer in
      let ask = try peer.next(.ask)
      #expect([ask.name, ask.object, ask.payload] == ["browser.rows", "browser/1", "{}"])
      let verdict = TribuneWire.Verdict(
        query: QueryID(rawValue: 5), verdict: .allowed, isUnanswered: false,
        outcomes: [
          .init(delegate: identity(3, ""), outcome: .abstained, reason: "", elapsed: 1),
          .init(delegate: identity(4, ""), outcome: .answered, reason: "", elapsed: 1, value: [0x34, 0x32]),
          .init(delegate: identity(5, ""), outcome: .answered, reason: "", elapsed: 1),
        ])
      try peer.send(verdict, serial: ask.serial)
      return try ask.decode(Ask.self)
    } client: { connection in
      let reply =
        if collects {
          try await connection.collect(
            "browser.rows", object: "browser/1", userInfo: "{}", deadline: .seconds(2), parent: 12)
        } else {
          try await connection.query(
            "browser.rows", object: "browser/1", userInfo: "{}", deadline: .seconds(2), parent: 12)
        }
      #expect(reply.query == 5)
      #expect(reply.outcomes.map(\.kind) == [.abstained, .answered, .answered])
      #expect(reply.values == ["42", .none])
      #expect(reply.value == "42")
    }
    #expect(asked == Ask(deadline: 2000, mode: mode, parent: 12))
  }

  @Test func aMissingValueIsNoError() async throws {
    try await conversation { peer in
      try peer.reply(to: try peer.next(.ask))
    } client: { connection in
      let reply = try await connection.query("browser.rows")
      #expect(reply.value == nil && reply.values.isEmpty)
    }
  }

  @Test func aProgramDefersOnBehalfOfADelegate() async throws {
    try await conversation { peer in
      let deferral = try peer.next(.defer)
      #expect(deferral.header.flags == .acknowledge)
      #expect(
        try deferral.decode(Defer.self)
          == Defer(query: QueryID(rawValue: 12), delegate: DelegateID(rawValue: 0), extension: 60_000))
      #expect(deferral.payload == "half done")
      try peer.send(Okay(), serial: deferral.serial)
      let second = try peer.next(.defer)
      #expect(try second.decode(Defer.self).delegate.rawValue == 77)
      try peer.send(Refusal(.notAsked), serial: second.serial, text: "nobody waits")
    } client: { connection in
      try await connection.deferAnswer(query: 12, by: .seconds(60), status: "half done")
      #expect(
        await failure { try await connection.deferAnswer(query: 12, delegate: 77, by: .seconds(60)) }?.code
          == .notFound)
    }
  }

  @Test func explainReturnsWhatAQueryWouldMeet() async throws {
    try await conversation { peer in
      let hold = HoldEntry(
        connection: ConnectionID(rawValue: 9), delegate: identity(8, ""), pattern: "a.**", object: "",
        why: "a restore", age: 2_000_000, remaining: 0)
      let object = ObjectEntry(
        object: "b", protocolName: "P", delegates: 1, connection: ConnectionID(rawValue: 9))
      try peer.list(
        .chain, name: "a.shouldB", object: "b",
        [
          .hold(hold), .missing(MissingEntry(name: "backup")), .delegate(delegateEntry(3, "steward")),
          .object(object),
        ])
    } client: { connection in
      let explanation = try await connection.explain("a.shouldB", object: "b")
      let hold = try #require(explanation.holds.first)
      #expect(hold.id == 8 && hold.pattern == "a.**" && hold.why == "a restore" && hold.age == .seconds(2))
      #expect(hold.expiresIn == nil && hold.connection == ":9" && hold.process == "editor")
      #expect(explanation.missing == ["backup"])
      #expect(explanation.delegates.map(\.label) == ["steward"])
      #expect(explanation.protocolName == "P")
    }
  }
}

func delegateEntry(_ id: UInt64, _ label: String) -> DelegateEntry {
  DelegateEntry(
    connection: ConnectionID(rawValue: 9), delegate: identity(id, label), object: "window/42", order: 0,
    failurePolicy: .veto, timeout: 5000, patterns: ["window.*"])
}
