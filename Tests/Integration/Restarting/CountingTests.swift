// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Counters", .timeLimit(.minutes(15)))
struct CountingTests {
  private let restarted: RestartedBus

  init() throws { restarted = try RestartedBus() }

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
    "begin at 0 with each daemon, except the received count of a connection",
    arguments: RestartedBus.Way.allCases)
  func restart(_ way: RestartedBus.Way) throws {
    let delegate = try RawClient.greeted(restarted)
    _ = try delegate.attach(Attach(label: "backup", patterns: ["host.*"]), serial: 1)
    let observer = try RawClient.observing("unit.*", on: restarted)
    let client = try RawClient.greeted(restarted)
    try client.send(Ask(), serial: 1, name: "host.shouldReboot")
    try delegate.answer(try delegate.nextQuestion().question, .veto, "busy")
    #expect(try client.nextVerdict().verdict == .vetoed)
    for serial in 2...4 as ClosedRange<Serial> {
      try client.sendConfirmed(Post(), serial: serial, name: "unit.didStart")
      _ = try observer.next()
    }
    try client.send(Post(), serial: 5, flags: .acknowledge, name: "tribune.reserved")
    #expect(try client.nextError() == .reservedName)
    let gone = try RawClient.greeted(restarted)
    try gone.sendConfirmed(Post(), serial: 1, name: "unit.didStop")
    _ = try observer.next()
    try gone.leave()

    let name = try #require(try names(client).first { $0.name == "host.shouldReboot" })
    #expect((name.asked, name.vetoed, name.durations.counts) == (1, 1, [1]))
    let participant = try #require(try participants(client).first)
    #expect((participant.label, participant.outcomes) == ("backup", OutcomeCounts(vetoed: 1)))
    let (userBefore, busBefore) = (try user(client), try client.busEntry())
    #expect((userBefore.posted, userBefore.delivered, userBefore.asked, userBefore.refused) == (4, 4, 1, 1))
    #expect(userBefore.postedBytes == busBefore.postedBytes && busBefore.postedBytes > 4 * 20)
    #expect((busBefore.posted, busBefore.refused, busBefore.denied) == (4, 1, 0))
    #expect(busBefore.iterations > 0 && busBefore.busy > 0)
    #expect(busBefore.logUsed > 0 && busBefore.logUsed < busBefore.logMax)

    try restarted.restart(way)
    let later = try RawClient.greeted(restarted)
    #expect(try names(later).isEmpty && participants(later).isEmpty)
    let (userAfter, busAfter) = (try user(later), try later.busEntry())
    #expect((userAfter.posted, userAfter.postedBytes, userAfter.delivered) == (0, 0, 0))
    #expect((userAfter.asked, userAfter.refused) == (0, 0))
    #expect((busAfter.asked, busAfter.vetoed, busAfter.posted, busAfter.delivered) == (0, 0, 0, 0))
    #expect((busAfter.refused, busAfter.postedBytes) == (0, 0))
    try later.sendConfirmed(Post(), serial: 1, name: "unit.didStart")
    _ = try observer.next()
    #expect(try user(later).delivered == 1 && later.busEntry().delivered == 1)
    #expect(try later.connections().first { $0.observations == 1 }?.delivered == 5)
  }
}
