// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

/// Compares each connection's turns with the queries in flight, also after restarts.
@Suite("Random turns of questions", .timeLimit(.minutes(15)))
struct RandomTurnsTests {
  @Test(
    "Every question counts once, none is stuck, and another bus continues with the same",
    arguments: Seeds.all, [1, 2, 4, 8, 17])
  func random(seed: UInt64, questionsAtATime: Int) throws {
    var numbers = SplitMix64(seed: seed)
    let bus = BusUnderTest { $0.questionsAtATime = questionsAtATime }
    bus.log = []
    var slots: [ConnectionSlot: UInt32] = [:]
    var serial: Serial = 1
    func next() -> Serial {
      serial += 1
      return serial
    }
    var open: [(to: ConnectionSlot, question: Question)] = []
    var asks: [(ConnectionSlot, Serial)] = []
    var attached: [(ConnectionSlot, Serial)] = []
    func connect() throws {
      let uid = try UInt32(numbers.one([0, 0, 1, 1, 2, 3, 4]))
      slots[bus.connect(uid: uid)] = uid
    }
    for _ in 0..<6 { try connect() }
    func pick() throws -> ConnectionSlot { try numbers.one(slots.keys.sorted { $0.index < $1.index }) }
    for step in 0..<250 {
      switch Int.random(in: 0..<40, using: &numbers) {
      case 0: if slots.count < 12 { try connect() }
      case 1:
        if slots.count > 3 {
          let s = try pick()
          slots[s] = nil
          asks.removeAll { $0.0 == s }
          attached.removeAll { $0.0 == s }
          open.removeAll { $0.to == s }
          bus.disconnect(s)
        }
      case 2...5:
        let (s, n) = try (pick(), next())
        bus.attach(
          try numbers.one([["x", "shouldX"], ["y", "shouldY"], ["**"], ["x", "shouldX", "y", "shouldY"]]),
          to: try numbers.one(["", "o"]),
          by: s, serial: n, order: Int32.random(in: 0...3, using: &numbers),
          policy: Bool.random(using: &numbers) ? .veto : .abstain,
          timeout: try UInt32(numbers.one([0, 5, 50])), label: "\(n)",
          isSet: Int.random(in: 0..<8, using: &numbers) == 0)
        attached.append((s, n))
      case 6:
        if let one = attached.randomElement(using: &numbers) { bus.cancel(one.1, by: one.0) }
      case 7...20:
        let (s, n) = try (pick(), next())
        let parent = open.randomElement(using: &numbers)
        let mode = try numbers.one(QueryMode.allCases)
        bus.ask(
          try numbers.one(mode.isForValues ? ["x", "y"] : ["shouldX", "shouldY"]),
          object: try numbers.one(["", "o", "\(n)"]), by: s, serial: n, mode: mode,
          deadline: try UInt32(numbers.one([0, 3, 40])),
          text: try numbers.one(["", "info"]),
          parent: Int.random(in: 0..<4, using: &numbers) == 0 ? parent?.question.query.rawValue ?? 0 : 0,
          flags: Bool.random(using: &numbers) ? .wantsProgress : [])
        asks.append((s, n))
      case 21...28:
        if let place = open.indices.randomElement(using: &numbers) {
          let one = open.remove(at: place)
          bus.answer(
            try numbers.one([.approve, .veto, .abstain, .failed, .value]), "r",
            query: one.question.query.rawValue, delegate: one.question.delegate.rawValue, from: one.to)
        }
      case 29:
        if let one = open.randomElement(using: &numbers) {
          bus.deferAnswer(
            20, query: one.question.query.rawValue, delegate: one.question.delegate.rawValue, from: one.to)
        }
      case 30...32: if let one = asks.randomElement(using: &numbers) { bus.cancel(one.1, by: one.0) }
      case 33...34: bus.advance(milliseconds: UInt32.random(in: 1...20, using: &numbers))
      case 35:
        if let one = open.randomElement(using: &numbers) {
          let now = bus.now
          bus.happen { $0.failQuestion(one.question.query, one.question.delegate, reason: "full", at: now) }
        }
      case 36...37:
        while bus.popUnreadInbox() != nil {}
        let (s, now) = try (pick(), bus.now)
        if bus.isWaitingToBeRead(s) { bus.happen { $0.markRead(by: s, at: now) } }
      case 38 where seed % 3 != 0:
        _ = bus.take()
        open += bus.takeQuestions()
        let before = bus.stateText()
        bus.restart(seed % 3 == 1 ? .replay : .snapshot)
        let after = bus.stateText()
        for (b, a) in zip(before, after) where a != b {
          Issue.record("\(seed), step \(step): before and after a restart\n  \(b)\n  \(a)")
        }
        #expect(before.count == after.count)
      default: break
      }
      open += bus.takeQuestions()
      _ = bus.take()
      bus.checkTurns("\(seed) \(step)")
    }
    for _ in 0..<2000 where bus.queryCount > 0 {
      for one in open {
        bus.answer(
          .abstain, query: one.question.query.rawValue, delegate: one.question.delegate.rawValue, from: one.to
        )
      }
      open = bus.takeQuestions()
      let now = bus.now
      for s in slots.keys where bus.isWaitingToBeRead(s) { bus.happen { $0.markRead(by: s, at: now) } }
      open += bus.takeQuestions()
      if open.isEmpty { _ = bus.advanceToNextDeadline() }
    }
    #expect(bus.queryCount == 0)
    bus.checkTurns("\(seed) end")
  }
}

extension BusUnderTest {
  func checkTurns(_ what: String) { bus.checkTurns(what) }
  func stateText() -> [String] { bus.stateText() }
}

extension Bus {
  fileprivate mutating func stateText() -> [String] {
    var lines: [String] = []
    for place in queries.allPlaces {
      let q = queries[place]
      lines.append(
        "q\(q.id.rawValue) \(q.ask.mode) exp \(q.nextExpiry.nanoseconds) "
          + q.participants.map {
            "d\($0.delegate.identity.id.rawValue)\($0.delegate.isAttached ? "" : "gone") \($0.state) asked \($0.wasAsked) turn \($0.hasTurn)"
          }.joined(separator: "; "))
    }
    for slot in connections.takenSlots {
      guard let inbox = connections[slot].inbox else { continue }
      let t = inbox.turns.value
      if t.sentCount == 0, !t.isAnyWaiting { continue }
      lines.append(
        "slot \(slot.index) sent \(t.sentCount) unread \(t.unreadByUser.sorted { $0.uid < $1.uid }.map { "\($0.uid):\($0.count)/\($0.reported)" }) rep \(t.isReported) waiting \(t.waitingByTurn.map { "\($0.uid): \($0.questions.map { "q\($0.query.rawValue)d\($0.delegate.rawValue)" })" })"
      )
    }
    return lines
  }

  fileprivate mutating func checkTurns(_ what: String) {
    var sent: [ConnectionSlot: Int] = [:]
    var waiting: [ConnectionSlot: Int] = [:]
    for place in queries.allPlaces {
      for participant in queries[place].participants where participant.delegate.isAttached {
        guard case .waiting = participant.state else {
          #expect(!participant.hasTurn, "\(what): settled with a turn")
          continue
        }
        if participant.hasTurn { sent[participant.delegate.slot, default: 0] += 1 }
        if !participant.wasAsked { waiting[participant.delegate.slot, default: 0] += 1 }
      }
    }
    for slot in connections.takenSlots {
      guard let inbox = connections[slot].inbox else {
        #expect(sent[slot] == nil && waiting[slot] == nil)
        continue
      }
      let turns = inbox.turns.value
      #expect(turns.sentCount == (sent[slot] ?? 0) + turns.unreadCount, "\(what): sent")
      #expect(
        turns.waitingByTurn.reduce(0) { $0 + $1.questions.count } == waiting[slot] ?? 0, "\(what): waiting")
      #expect(turns.sentCount <= max(1, limits.questionsAtATime), "\(what): max")
      if turns.unreadCount > 0, turns.isAnyWaiting { #expect(turns.isReported, "\(what): reported") }
      if turns.isAnyWaiting { #expect(turns.sentCount > 0, "\(what): stuck") }
    }
  }
}

extension SplitMix64 {
  fileprivate mutating func one<Element>(_ choices: [Element]) throws -> Element {
    try #require(choices.randomElement(using: &self))
  }
}
