// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct AskingTests {
  @Test func aVerdictNamesEveryOutcome() async throws {
    let asked = try await conversation { peer in
      let ask = try peer.next(.ask)
      #expect([ask.name, ask.object, ask.payload] == ["window.shouldClose", "window/42", "{}"])
      let verdict = TribuneWire.Verdict(
        query: QueryID(rawValue: 5), verdict: .vetoed, isUnanswered: false,
        outcomes: [
          .init(delegate: identity(3, "steward"), outcome: .vetoed, reason: "unsaved changes", elapsed: 1500),
          .init(delegate: identity(4, ""), outcome: .timedOut, reason: "", elapsed: 5_000_000),
        ], omittedCount: 1008)
      try peer.send(verdict, serial: ask.serial)
      return try ask.decode(Ask.self)
    } client: { connection in
      let verdict = try await connection.ask(
        "window.shouldClose", object: "window/42", userInfo: "{}", deadline: .seconds(2.5), mode: .all,
        default: .vetoed, parent: 12)
      #expect(!verdict.isAllowed)
      #expect(
        verdict
          == Tribune.Verdict(
            .vetoed, query: 5,
            outcomes: [
              Outcome(
                delegate: 3, label: "steward", kind: .vetoed, reason: "unsaved changes", pid: 100, uid: 1000,
                process: "editor", units: Units(system: "editor.service"), elapsed: .microseconds(1500)),
              Outcome(
                delegate: 4, label: "", kind: .timedOut, reason: "", pid: 100, uid: 1000, process: "editor",
                units: Units(system: "editor.service"), elapsed: .seconds(5)),
            ], omittedCount: 1008))
    }
    #expect(asked == Ask(deadline: 2500, mode: .all, fallback: .vetoed, parent: 12))
  }

  @Test func aVerdictThatReachedNobodySaysWhatMayBeMeant() async throws {
    try await conversation { peer in
      for _ in 0..<2 {
        let ask = try peer.next(.ask)
        let verdict = TribuneWire.Verdict(
          query: QueryID(rawValue: 5), verdict: .allowed, isUnanswered: true, outcomes: [],
          similarName: "host.shouldReboot")
        try peer.send(verdict, serial: ask.serial)
      }
    } client: { connection in
      let verdict = try await connection.ask("host.shouldreboot")
      #expect(verdict.similarName == "host.shouldReboot")
      let reply = try await connection.query("host.shouldreboot")
      #expect(reply.similarName == "host.shouldReboot")
    }
  }

  @Test(arguments: [
    (Duration?.none, UInt32(0)), (.zero, 1), (.seconds(-3), 1), (.microseconds(1), 1), (.milliseconds(1), 1),
    (.microseconds(1001), 2), (.seconds(3600), 3_600_000), (.seconds(Int64.max), .max),
  ])
  func aSpanOnTheWireIsNeverZeroNorOverflows(span: Duration?, milliseconds: UInt32) {
    #expect(Checked.milliseconds(span) == milliseconds)
  }

  @Test func verdictsFindTheirQueriesInAnyOrder() async throws {
    try await conversation { peer in
      var asks: [ScriptedPeer.Frame] = []
      for _ in 0..<20 { asks.append(try peer.next(.ask)) }
      for ask in asks.reversed() { try peer.reply(to: ask, query: UInt64(ask.payload) ?? 0) }
    } client: { connection in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...20 {
          group.addTask {
            let verdict = try await connection.ask("a", userInfo: UserInfo("\(number)"))
            #expect(verdict.query == UInt64(number) && verdict.isAllowed && verdict.isUnanswered)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test func aCancelledTaskAsksNothing() async throws {
    try await expectSilence { connection in
      let gate = Gate()
      let task = Task {
        await gate.opened()
        return await failure { try await connection.ask("window.shouldClose") }
      }
      task.cancel()
      gate.open()
      #expect(await task.value?.code == .cancelled)
    }
  }

  @Test func aLostConnectionFailsItsQueries() async throws {
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      _ = try peer.next(.ask)
    } client: { connection in
      #expect(await failure { try await connection.ask("a") }?.code == .connectionLost)
      #expect(await connection.closed()?.code == .connectionLost)
    }
  }

  @Test func listsEndWithTheirOkay() async throws {
    try await conversation { peer in
      let entries = (1...3 as ClosedRange<UInt64>).map { number in
        ConnectionEntry(
          id: ConnectionID(rawValue: number), peer: identity(0, "").peer, age: .max, observations: 1,
          delegates: 2, queries: 3, queued: .max, lost: 4, posted: 5,
          state: number == 1 ? [.paused, .suspended] : .paused, buffered: number == 1 ? .max : 0)
      }
      try peer.list(.connections, entries.map { .connection($0) })
      var entry = BusEntry()
      entry.software = "scripted"
      entry.vetoed = 3
      try peer.list(.bus, [.bus(entry)])
    } client: { connection in
      let connections = try await connection.connections()
      #expect(connections.map(\.id) == [":1", ":2", ":3"])
      #expect(connections.first?.queuedBytes == .max)
      #expect(connections.map(\.isSuspended) == [true, false, false])
      #expect(connections.map(\.bufferedBytes) == [.max, 0, 0])
      #expect(try await connection.status().vetoed == 3)
    }
  }
}

func identity(_ id: UInt64, _ label: String) -> DelegateIdentity {
  DelegateIdentity(
    id: DelegateID(rawValue: id), label: label,
    peer: PeerIdentity(
      pid: 100, uid: 1000, gid: 1000, process: "editor", units: PeerUnits(system: "editor.service")))
}
