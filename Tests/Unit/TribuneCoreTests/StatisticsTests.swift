// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("The bus's statistics", .timeLimit(.minutes(15)))
struct StatisticsTests {
  let bus = BusUnderTest()
  let (asker, one, two): (ConnectionSlot, ConnectionSlot, ConnectionSlot)

  init() {
    bus.log = []
    asker = bus.connect()
    (one, two) = (bus.connect(uid: 1), bus.connect(uid: 2, units: PeerUnits(system: "two.service")))
    bus.attach(["a.*"], by: one, serial: 1, label: "first")
    bus.attach(["a.*"], by: two, serial: 1, order: 1, label: "second")
    _ = bus.take()
  }

  private func name(_ name: String) -> NameEntry? { bus.bus.nameEntries(for: nil).first { $0.name == name } }

  private func queries(for slot: ConnectionSlot?) -> [QueryEntry] {
    bus.bus.queryEntries(of: ConnectionID(rawValue: 1), for: slot, at: bus.now)
  }

  private func participant(_ label: String) -> ParticipantEntry? {
    bus.bus.participantEntries(for: nil).first { $0.label == label }
  }

  @Test("have verdicts and outcomes by name and by delegate")
  func counts() throws {
    bus.ask("a.shouldGo", by: asker, serial: 1, mode: .all)
    bus.advance(milliseconds: 3)
    bus.answer(.approve, query: 1, delegate: 1, from: one)
    bus.advance(milliseconds: 4)
    bus.answer(.veto, "no", query: 1, delegate: 2, from: two)
    bus.ask("a.shouldGo", by: asker, serial: 2, mode: .all, flags: .isDryRun)
    bus.answer(.abstain, query: 2, delegate: 1, from: one)
    bus.answer(.approve, query: 2, delegate: 2, from: two)
    bus.ask("a.shouldGo", by: asker, serial: 3)
    bus.cancel(3, by: asker)
    bus.hold("shouldB", by: one, serial: 2)
    bus.ask("shouldB", by: asker, serial: 4)

    let go = try #require(name("a.shouldGo"))
    #expect((go.asked, go.vetoed, go.overridden, go.cancelled) == (1, 1, 0, 1))
    #expect(go.outcomes == OutcomeCounts(approved: 1, vetoed: 1))
    #expect(go.durations.sum == 7000 && go.durations.longest == 7000 && go.durations.counts == [1])
    #expect(Int(go.durations.first) == Durations.bucket(of: 7000))
    let held = try #require(name("shouldB"))
    #expect(held.asked == 1 && held.outcomes == OutcomeCounts(held: 1))
    #expect(held.durations.counts == [])

    let first = try #require(participant("first"))
    #expect((first.role, first.uid, first.unit) == (.delegate, 1, "test.service"))
    #expect(first.outcomes == OutcomeCounts(approved: 1))
    let second = try #require(participant("second"))
    #expect((second.uid, second.unit) == (2, "two.service"))
    #expect(second.outcomes == OutcomeCounts(vetoed: 1))
    #expect(second.durations.sum == 7000)
  }

  @Test("begin with each bus, and have the verdicts of that bus alone", arguments: Restart.allCases)
  func restarted(_ restart: Restart) throws {
    bus.ask("a.shouldGo", by: asker, serial: 1)
    bus.answer(.veto, query: 1, delegate: 1, from: one)
    bus.ask("a.shouldGo", by: asker, serial: 2)
    bus.answer(.approve, query: 2, delegate: 1, from: one)
    _ = bus.take()
    bus.restart(restart)
    #expect(bus.bus.nameEntries(for: nil).isEmpty && bus.bus.participantEntries(for: nil).isEmpty)
    #expect(bus.verdictCounts == [0, 0])
    bus.advance(milliseconds: 5)
    bus.answer(.veto, query: 2, delegate: 2, from: two)
    #expect(bus.verdictCounts == [1, 1])
    let go = try #require(name("a.shouldGo"))
    // Answers that the earlier bus received count for the name.
    #expect((go.asked, go.vetoed, go.outcomes) == (1, 1, OutcomeCounts(approved: 1, vetoed: 1)))
    #expect(go.durations.sum == 5000)
    #expect(participant("first") == nil && participant("second")?.outcomes == OutcomeCounts(vetoed: 1))
  }

  @Test("have delegates that do not answer, and departed ones")
  func silence() throws {
    bus.ask("a.shouldB", by: asker, serial: 1, mode: .all, deadline: 500)
    bus.disconnect(two)
    bus.advance(milliseconds: 500)
    #expect(participant("first")?.outcomes == OutcomeCounts(timedOut: 1))
    #expect(participant("first")?.durations.longest == 500_000)
    #expect(participant("second")?.outcomes == OutcomeCounts(gone: 1))
    #expect(name("a.shouldB")?.outcomes == OutcomeCounts(timedOut: 1, gone: 1))
  }

  @Test("have overridden vetoes and values", arguments: [false, true])
  func others(_ isForValues: Bool) throws {
    let name = isForValues ? "a.b" : "a.shouldB"
    bus.hold("a.*", by: one, serial: 2)
    if isForValues {
      bus.ask(name, by: asker, serial: 1, mode: .first)
      bus.answer(.abstain, query: 1, delegate: 1, from: one)
      bus.answer(.abstain, query: 1, delegate: 2, from: two)
    } else {
      bus.ask(name, by: asker, serial: 1, flags: .overrides, because: "must be")
      bus.answer(.approve, query: 1, delegate: 1, from: one)
      bus.answer(.approve, query: 1, delegate: 2, from: two)
    }
    let entry = try #require(self.name(name))
    #expect((entry.asked, entry.vetoed, entry.overridden) == (1, 0, isForValues ? 0 : 1))
  }

  @Test("have awaited observers: one is done, one failed, and one does not answer")
  func observers() throws {
    for (slot, serial) in [(one, 5), (two, 5), (asker, 5)] as [(ConnectionSlot, Serial)] {
      bus.observe("c", by: slot, serial: serial, .awaited)
    }
    let poster = bus.connect(uid: 9)
    bus.post("c", by: poster, serial: 7, .awaited, deadline: 100)
    bus.advance(milliseconds: 20)
    bus.done(7, of: 4, by: one)
    bus.done(7, of: 4, by: two, failed: "broken")
    bus.advance(milliseconds: 80)
    let observers = bus.bus.participantEntries(for: nil).filter { $0.role == .observer }
    let byUser = Dictionary(uniqueKeysWithValues: observers.map { ($0.uid, $0.outcomes) })
    #expect(
      byUser == [
        1: OutcomeCounts(answered: 1), 2: OutcomeCounts(failed: 1), 1000: OutcomeCounts(timedOut: 1),
      ])
  }

  @Test("have the busiest names, and all others together")
  func bound() throws {
    let askers = 3000
    for number in 0..<askers {
      bus.ask("shouldN\(number)", by: asker, serial: 1)
      if number % 3 == 0 { for _ in 0..<5 { bus.ask("shouldBusy\(number % 90)", by: asker, serial: 1) } }
      _ = bus.take()
    }
    let entries = bus.bus.nameEntries(for: nil)
    #expect(entries.count == 1001)
    #expect(entries.last?.name == "")
    #expect(entries.reduce(0) { $0 + $1.asked } == UInt64(askers + askers / 3 * 5))
    #expect(entries.prefix(30).allSatisfy { $0.name.hasPrefix("shouldBusy") })
    #expect(entries.map(\.asked).dropLast().elementsEqual(entries.map(\.asked).dropLast().sorted(by: >)))
  }

  @Test("still count for a name that is no longer among the busiest")
  func folded() throws {
    bus.ask("a.shouldStay", by: asker, serial: 1)
    for number in 0..<1256 {
      for serial in 1...2 { bus.ask("shouldN\(number)", by: asker, serial: Serial(serial)) }
    }
    bus.bus.withStatistics { names in
      let tally = names.tally(of: "late", for: 1000)
      for number in 0..<1300 { names.tally(of: "m\(number)", for: 1000).update { $0.asked += 9 } }
      tally.update { $0.asked += 5 }
      #expect(names.all.others.asked >= 5)
      #expect(tally.counts.asked == 0)
    }
  }

  @Test("are listed for users who may know them")
  func access() throws {
    bus.ask("a.shouldB", by: asker, serial: 1)
    bus.answer(.veto, query: 1, delegate: 1, from: one)
    bus.ask("shouldHide", by: asker, serial: 2)
    bus.ask("a.shouldC", by: asker, serial: 3)
    _ = bus.take()
    let rules = AccessRules.policy(
      Policy(text: ["allow list a.shouldB user:1", "allow ask ** user:1000", "allow delegate ** user:*"]),
      exempt: [0])
    bus.happen { $0.apply(rules, at: bus.now) }
    #expect(bus.bus.nameEntries(for: one).map(\.name) == ["a.shouldB"])
    #expect(bus.bus.participantEntries(for: one).map(\.label) == ["first"])
    #expect(queries(for: one).isEmpty)
    #expect(queries(for: two).isEmpty)
    #expect(queries(for: asker).map(\.name) == ["a.shouldC"])
    #expect(bus.bus.nameEntries(for: asker).isEmpty)
  }

  @Test("have queries under way, and the delegates that they wait for")
  func queries() throws {
    bus.hold("a.*", by: two, serial: 2)
    bus.ask("a.shouldB", object: "o", by: asker, serial: 1, mode: .all, deadline: 9000, flags: .isDryRun)
    bus.advance(milliseconds: 3)
    bus.answer(.veto, "no", query: 1, delegate: 2, from: two)
    bus.advance(milliseconds: 5)
    let query = try #require(queries(for: nil).first)
    #expect((query.name, query.object, query.mode, query.isDryRun) == ("a.shouldB", "o", .all, true))
    #expect((query.age, query.remaining) == (8000, 8_992_000))
    #expect(query.peer.uid == 1000)
    #expect(query.participants.map(\.state) == [.settled, .asked, .settled])
    #expect(query.participants.map(\.outcome) == [.held, .approved, .vetoed])
    #expect(query.participants.map(\.elapsed) == [0, 8000, 3000])
    #expect(query.participants.map(\.delegate.label) == ["", "first", "second"])
    #expect(query.participants[2].reason == "no")
    #expect(query.participants[1].remaining > 0 && query.participants[1].remaining <= 8_992_000)
  }

  @Test("list some of the delegates that a large query waits for, and count the rest")
  func manyParticipants() throws {
    let many = BusUnderTest()
    let asker = many.connect()
    for number in 0..<300 {
      let slot = many.connect()
      many.attach(["shouldA"], by: slot, serial: 1, order: Int32(number), policy: .abstain)
    }
    many.ask("shouldA", by: asker, serial: 1, mode: .all)
    for delegate in 1...200 as ClosedRange<UInt64> {
      many.answer(.approve, query: 1, delegate: delegate, from: ConnectionSlot(index: Int(delegate)))
    }
    let query = try #require(
      many.bus.queryEntries(of: ConnectionID(rawValue: 1), for: nil, at: many.now).first)
    #expect(query.participants.count == 256)
    #expect(query.participants.count { $0.state == .asked } == 100)
    #expect(query.omittedCount == 44)
    #expect(query.participants.map(\.delegate.id.rawValue) == Array(1...156) + Array(201...300))
  }

  @Test("keep the counts of a delegate without a question, however many others come and go")
  func unasked() throws {
    bus.bus.withStatistics { names in
      let rare = names.tally(of: "rare", for: 1)
      rare.userCount.value += 1
      for number in 0..<5000 { names.tally(of: "m\(number)", for: 1).update { $0.asked += 1 } }
      rare.update { $0.asked += 1 }
      #expect(rare.counts.asked == 1)
      #expect(names.tally(of: "rare", for: 1) === rare)
    }
  }

  @Test("keep the names that root and each other user ask most, however much one user asks")
  func shares() {
    bus.ask("host.shouldReboot", by: asker, serial: 1)
    let root = bus.connect(uid: 0)
    bus.ask("host.shouldReboot", by: root, serial: 1)
    bus.ask("two.shouldRun", by: two, serial: 3)
    for number in 0..<5000 {
      for serial in 1...3 { bus.ask("shouldN\(number)", by: asker, serial: Serial(serial)) }
      _ = bus.take()
    }
    let names = bus.bus.nameEntries(for: nil).map(\.name)
    #expect(names.count == 1001 && names.contains("host.shouldReboot") && names.contains("two.shouldRun"))
  }

  @Test("keep the host's questions, also if only a user asks them", arguments: [nil] + Restart.allCases)
  func questionsOfTheHost(_ restart: Restart?) {
    if restart != nil { bus.attach(["host.*"], by: one, serial: 2) }
    for (serial, name) in ["host.shouldReboot", "host.shouldRebut"].enumerated() {
      bus.ask(name, by: asker, serial: Serial(1 + serial))
    }
    _ = bus.take()
    if let restart {
      bus.restart(restart)
      for query in 1...2 as ClosedRange<UInt64> { bus.answer(.approve, query: query, delegate: 3, from: one) }
    }
    for number in 0..<1600 {
      for serial in 1...3 { bus.ask("shouldN\(number)", by: asker, serial: Serial(serial)) }
      _ = bus.take()
    }
    let names = bus.bus.nameEntries(for: nil).map(\.name)
    #expect(names.contains("host.shouldReboot") && !names.contains("host.shouldRebut"))
  }
}

extension Bus {
  fileprivate mutating func withStatistics(_ body: (inout Busiest<String, NameCounts>) -> Void) {
    body(&tallies.names)
  }
}
