// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What the bus counts, over its restarts.
@Suite("Counters", .timeLimit(.minutes(3)))
struct CountingTests {
  private let restarted: RestartedBus

  init() throws { restarted = try RestartedBus() }

  /// What a list has, without what differs from one moment to the next.
  private func names(_ client: RawClient) throws -> [NameEntry] {
    try client.list(List(.names)).compactMap { if case .name(let entry) = $0 { entry } else { nil } }
  }

  private func participants(_ client: RawClient) throws -> [ParticipantEntry] {
    try client.list(List(.participants)).compactMap {
      if case .participant(let entry) = $0 { entry } else { nil }
    }
  }

  private func user(_ client: RawClient) throws -> UserEntry {
    let entries = try client.list(List(.users)).compactMap {
      if case .user(let entry) = $0 { entry } else { nil }
    }
    return try #require(entries.first)
  }

  @Test(
    "of queries, delegates and notifications continue over a restart", arguments: RestartedBus.Way.allCases)
  func restart(_ way: RestartedBus.Way) throws {
    let delegate = try RawClient.greeted(restarted)
    _ = try delegate.attach(Attach(label: "backup", patterns: ["host.*"]), serial: 1)
    let observer = try RawClient.observing("unit.*", on: restarted)
    let (client, welcome) = try RawClient.welcomed(restarted)
    try client.send(Ask(), serial: 1, name: "host.shouldReboot")
    try delegate.answer(try delegate.nextQuestion().question, .veto, "busy")
    #expect(try client.nextVerdict().verdict == .vetoed)
    for serial in 2...4 as ClosedRange<Serial> {
      try client.sendConfirmed(Post(), serial: serial, name: "unit.didStart")
      _ = try observer.next()
    }
    // One that is refused, and one that goes before the restart.
    try client.send(Post(), serial: 5, flags: .acknowledge, name: "tribune.reserved")
    #expect(try client.nextError() == .reservedName)
    let gone = try RawClient.greeted(restarted)
    try gone.sendConfirmed(Post(), serial: 1, name: "unit.didStop")
    _ = try observer.next()
    try gone.leave()

    let (namesBefore, participantsBefore) = (try names(client), try participants(client))
    let name = try #require(namesBefore.first { $0.name == "host.shouldReboot" })
    #expect((name.asked, name.vetoed, name.durations.counts) == (1, 1, [1]))
    let participant = try #require(participantsBefore.first)
    #expect((participant.label, participant.outcomes) == ("backup", OutcomeCounts(vetoed: 1)))
    let (userBefore, busBefore) = (try user(client), try client.busEntry())
    #expect((userBefore.posted, userBefore.delivered, userBefore.asked, userBefore.refused) == (4, 4, 1, 1))
    #expect(userBefore.postedBytes == busBefore.postedBytes && busBefore.postedBytes > 4 * 20)
    #expect((busBefore.posted, busBefore.refused, busBefore.denied) == (4, 1, 0))
    #expect(busBefore.iterations > 0 && busBefore.busy > 0)
    #expect(busBefore.logUsed > 0 && busBefore.logUsed < busBefore.logMax)

    try restarted.restart(way)
    // After a crash, clients have to connect again. What the log has is what was decided.
    let later = way == .crash ? try RawClient.greeted(restarted) : client
    #expect(try names(later) == namesBefore)
    #expect(try participants(later) == participantsBefore)
    guard way != .crash else { return }
    let (userAfter, busAfter) = (try user(later), try later.busEntry())
    #expect((userAfter.posted, userAfter.postedBytes) == (4, userBefore.postedBytes))
    #expect((userAfter.delivered, userAfter.asked, userAfter.refused) == (4, 1, 1))
    #expect((busAfter.posted, busAfter.refused) == (4, 1))
    let own = try #require(try later.entry(of: welcome.connection))
    #expect((own.posted, own.asked, own.refused, own.delivered) == (3, 1, 1, 0))
    #expect(own.postedBytes > 0 && own.postedBytes < busAfter.postedBytes)
  }
}
