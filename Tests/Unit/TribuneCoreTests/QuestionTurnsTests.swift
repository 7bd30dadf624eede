// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("Turns of questions", .timeLimit(.minutes(15)))
struct QuestionTurnsTests {
  private static let (root, bob, carol): (UInt32, UInt32, UInt32) = (0, 1001, 1002)

  /// A delegate gets eight questions at a time: three of one user alone, one of the next one, seven of root.
  let bus = BusUnderTest { $0.questionsAtATime = 8 }
  let delegate: ConnectionSlot
  private let asker: [UInt32: ConnectionSlot]

  init() {
    bus.log = []
    let delegate = bus.connect(uid: Self.root)
    bus.attach(["x", "shouldX"], by: delegate, serial: 1, policy: .abstain)
    self.delegate = delegate
    asker = Dictionary(
      uniqueKeysWithValues: [Self.root, Self.bob, Self.carol].map { [bus] in ($0, bus.connect(uid: $0)) })
    _ = bus.take()
    _ = bus.takeQuestions()
  }

  private func slot(_ user: UInt32) throws -> ConnectionSlot { try #require(asker[user]) }

  private func ask(_ serials: ClosedRange<Serial>, by user: UInt32, deadline: UInt32 = 0) throws {
    for serial in serials {
      bus.ask("shouldX", by: try slot(user), serial: serial, deadline: deadline, text: "\(serial)")
    }
  }

  private func asked() -> [UInt64] { bus.takeQuestions().map(\.question.query.rawValue) }

  private func approve(_ queries: UInt64...) {
    for query in queries { bus.answer(.approve, query: query, delegate: 1, from: delegate) }
  }

  private func markRead() {
    let (delegate, now) = (delegate, bus.now)
    bus.happen { $0.markRead(by: delegate, at: now) }
  }

  @Test("Another user's question does not wait for all questions of one user")
  func turns() throws {
    try ask(1...9, by: Self.bob)
    #expect(asked() == [1, 2, 3])
    try ask(1...3, by: Self.carol)
    #expect(asked() == [10])
    try ask(1...5, by: Self.root)
    #expect(asked() == [13, 14, 15, 16])
    approve(10)
    #expect(asked() == [11])
    approve(13)
    #expect(asked() == [17])
    approve(14, 15, 16, 17)
    #expect(asked() == [])
    approve(1, 2)
    #expect(asked() == [4])
    approve(11)
    #expect(asked() == [12])
    approve(3, 4, 12)
    #expect(asked() == [5, 6, 7])
    approve(5, 6, 7)
    #expect(asked() == [8, 9])
    approve(8, 9)
    #expect(bus.take().filter { $0.contains("verdict") }.allSatisfy { $0.contains("d1 approved") })
    #expect(bus.queryCount == 0)
  }

  @Test("A question has its own userInfo when its turn comes", arguments: QueryMode.allCases)
  func userInfo(mode: QueryMode) throws {
    for serial: Serial in 1...4 {
      bus.ask(mode.name, by: try slot(Self.bob), serial: serial, mode: mode, text: "info \(serial)")
    }
    #expect(!bus.take().contains { $0.contains("info 4") })
    approve(1)
    #expect(bus.take().contains { $0.contains("question") && $0.contains("info 4") })
  }

  @Test("A waiting question can be neither answered nor deferred")
  func guesses() throws {
    try ask(1...4, by: Self.bob)
    _ = bus.take()
    approve(4)
    bus.deferAnswer(10, query: 4, delegate: 1, from: delegate)
    bus.deferAnswer(10, query: 4, delegate: 0, from: delegate)
    bus.expect("A refused 900 notAsked", "A refused 901 notAsked", "A refused 901 notAsked")
  }

  @Test("A deferred question does not delay others")
  func deferred() throws {
    try ask(1...6, by: Self.bob)
    #expect(asked() == [1, 2, 3])
    bus.deferAnswer(10_000, query: 1, delegate: 1, from: delegate)
    #expect(asked() == [4])
    bus.deferAnswer(10_000, query: 1, delegate: 1, from: delegate)
    approve(1)
    #expect(asked() == [])
    approve(2)
    #expect(asked() == [5])
  }

  @Test("A question for which the delegate asks its own query does not delay others")
  func nested() throws {
    for serial: Serial in 1...20 {
      bus.ask("shouldX", object: "\(serial)", by: try slot(Self.root), serial: serial)
    }
    #expect(asked() == Array(1...7))
    for query: UInt64 in 1...20 {
      bus.ask("shouldX", object: "nested \(query)", by: delegate, serial: Serial(100 + query), parent: query)
    }
    #expect(asked() == Array(8...27))
    try ask(1...5, by: Self.bob)
    #expect(asked() == [41])
    // The asker was not asked the parent.
    bus.ask("shouldX", by: try slot(Self.bob), serial: 6, parent: 21)
    #expect(asked() == [])
  }

  @Test("A nested question comes before waiting ones, which keep their userInfo")
  func nestedFirst() throws {
    try ask(1...5, by: Self.bob)
    try ask(1...5, by: Self.root)
    _ = bus.take()
    bus.ask("shouldX", object: "nested", by: delegate, serial: 100, text: "info", parent: 1)
    #expect(asked() == [1, 2, 3, 6, 7, 8, 9, 10, 11])
    approve(6, 7, 8)
    #expect(bus.take().contains { $0.contains("question 1 q11") && $0.contains("info") })
  }

  @Test("A waiting question whose deadline passed, or whose asker left, is not sent")
  func ended() throws {
    try ask(1...3, by: Self.bob)
    try ask(4...4, by: Self.bob, deadline: 10)
    try ask(5...5, by: Self.bob)
    try ask(1...3, by: Self.carol)
    bus.cancel(3, by: try slot(Self.carol))
    #expect(asked() == [1, 2, 3, 6])
    bus.advance(milliseconds: 10)
    let lines = bus.take()
    #expect(lines.contains { $0.contains("verdict 4 q4") && $0.contains("timedOut") })
    #expect(!lines.contains { $0.contains("concluded") })
    bus.disconnect(try slot(Self.carol))
    bus.expect("A concluded 1 q6 d1 cancelled")
    approve(1, 2)
    #expect(asked() == [5])
  }

  @Test("Questions that have ended count until the delegate has read them")
  func unread() throws {
    try ask(1...3, by: Self.bob, deadline: 10)
    bus.advance(milliseconds: 10)
    #expect(bus.popUnreadInbox() == nil)
    try ask(4...5, by: Self.bob)
    #expect(asked() == [1, 2, 3])
    #expect(bus.popUnreadInbox() == delegate)
    #expect(bus.popUnreadInbox() == nil)
    #expect(bus.isWaitingToBeRead(delegate))
    try ask(1...1, by: Self.root)
    #expect(asked() == [6])
    markRead()
    #expect(!bus.isWaitingToBeRead(delegate))
    #expect(asked() == [4, 5])
  }

  @Test("Questions that end while others wait have to be read first")
  func unreadLater() throws {
    try ask(1...5, by: Self.bob)
    bus.cancel(1, by: try slot(Self.bob))
    #expect(bus.popUnreadInbox() == delegate)
    approve(2)
    #expect(asked() == [1, 2, 3, 4])
    markRead()
    #expect(asked() == [5])
  }

  @Test(
    "Questions that end after the server's report wait for the next one",
    arguments: [Restart?.none, .replay, .snapshot])
  func unreadAfterReport(restart: Restart?) throws {
    try ask(1...7, by: Self.bob)
    bus.cancel(1, by: try slot(Self.bob))
    #expect(bus.popUnreadInbox() == delegate)
    bus.cancel(2, by: try slot(Self.bob))
    #expect(asked() == [1, 2, 3])
    _ = bus.take()
    if let restart {
      bus.restart(restart)
      #expect(bus.popUnreadInbox() == delegate)
    }
    markRead()
    #expect(asked() == [4])
    #expect(bus.popUnreadInbox() == delegate)
    markRead()
    #expect(asked() == [5])
    #expect(bus.popUnreadInbox() == nil)
  }

  @Test("No delegate has to be read once no question waits for it, until another one does")
  func noLongerWaiting() throws {
    try ask(1...3, by: Self.bob)
    try ask(4...4, by: Self.bob, deadline: 10)
    bus.cancel(1, by: try slot(Self.bob))
    #expect(bus.popUnreadInbox() == delegate)
    bus.advance(milliseconds: 10)
    #expect(!bus.isWaitingToBeRead(delegate))
    try ask(5...5, by: Self.bob)
    #expect(bus.popUnreadInbox() == delegate)
    #expect(asked() == [1, 2, 3])
    markRead()
    #expect(asked() == [5])
  }

  @Test("A nested query of one delegate does not change the turns of its user's other delegate")
  func nestedElsewhere() throws {
    let other = bus.connect(uid: Self.root)
    bus.attach(["shouldX"], by: other, serial: 1, policy: .abstain)
    for serial: Serial in 1...20 {
      bus.ask("shouldX", object: "\(serial)", by: try slot(Self.bob), serial: serial)
      bus.ask("shouldY", by: delegate, serial: 100 + serial, parent: UInt64(2 * serial - 1))
    }
    #expect(bus.takeQuestions().filter { $0.to == other }.count == 3)
  }

  @Test("A delegate that disconnects is gone for its waiting questions")
  func departure() throws {
    try ask(1...6, by: Self.bob)
    bus.cancel(1, by: try slot(Self.bob))
    _ = bus.take()
    bus.disconnect(delegate)
    #expect(bus.take().count { $0.contains("d1 gone") } == 5)
    #expect(bus.popUnreadInbox() == nil)
    #expect(bus.queryCount == 0)
  }

  @Test("Many waiting questions that ended do not change the order of the others")
  func many() throws {
    try ask(1...3, by: Self.bob)
    for round: Serial in 0..<20 {
      let first = 10 + 20 * round
      try ask(first...first + 19, by: Self.bob)
      for serial in first...first + 18 { bus.cancel(serial, by: try slot(Self.bob)) }
    }
    var (open, order) = (asked(), [UInt64]())
    while let query = open.first {
      open.removeFirst()
      approve(query)
      let next = asked()
      open += next
      order += next
    }
    #expect(order == (1...20).map { 3 + 20 * $0 })
    #expect(bus.queryCount == 0)
  }

  @Test("Questions keep their turns in another bus", arguments: Restart.allCases)
  func restarts(_ restart: Restart) throws {
    try ask(1...6, by: Self.bob)
    try ask(1...3, by: Self.carol)
    try ask(1...5, by: Self.root)
    #expect(asked() == [1, 2, 3, 7, 10, 11, 12, 13])
    bus.cancel(2, by: try slot(Self.bob))
    bus.cancel(5, by: try slot(Self.bob))
    bus.deferAnswer(9_000, query: 7, delegate: 1, from: delegate)
    #expect(asked() == [8])
    _ = bus.take()
    bus.restart(restart)
    #expect(bus.popUnreadInbox() == delegate)
    markRead()
    #expect(asked() == [14])
    approve(1, 3)
    #expect(asked() == [4])
    approve(8)
    #expect(asked() == [9])
    approve(4, 7, 9, 10, 11, 12, 13, 14)
    #expect(asked() == [6])
    approve(6)
    #expect(bus.queryCount == 0)
  }

  private func restored() throws -> (bus: BusUnderTest, turns: [UInt8]) {
    let other = BusUnderTest { $0.questionsAtATime = 8 }
    for uid in [Self.root, Self.root, Self.bob, Self.carol] { other.connect(uid: uid) }
    other.attach(["shouldX"], by: delegate, serial: 1, policy: .abstain)
    let now = bus.now
    var turns: [UInt8] = []
    try bus.bus.forEachUnderWay { (what, _, fields) throws(WireError) in
      if what == .query { try other.bus.restoreQuery(fields.bytes, at: now) } else { turns = fields.array }
    }
    _ = other.take()
    return (other, turns)
  }

  @Test("Questions that lose their turns in a restart are still sent")
  func lostTurns() throws {
    try ask(1...5, by: Self.bob)
    let (other, _) = try restored()
    other.bus.finishRestoring(at: bus.now)
    for query: UInt64 in 1...2 { other.answer(.approve, query: query, delegate: 1, from: delegate) }
    #expect(other.takeQuestions().map(\.question.query.rawValue) == [4, 5])
  }

  @Test("Corrupt turns are refused or used, and every question is sent")
  func corruptTurns() throws {
    try ask(1...6, by: Self.bob)
    try ask(1...2, by: Self.carol)
    bus.cancel(2, by: try slot(Self.bob))
    let (first, turns) = try restored()
    try first.bus.restoreTurns(turns.raw, of: ConnectionID(rawValue: 1))
    #expect(
      ByteBuffer { first.appendUnderWay(to: $0) }.array == ByteBuffer { bus.appendUnderWay(to: $0) }.array)
    var refusedCount = 0
    for offset in turns.indices {
      for mask: UInt8 in [0x01, 0xFF] {
        var spoilt = turns
        spoilt[offset] ^= mask
        let (other, _) = try restored()
        let now = other.now
        if refusal({ () throws(WireError) in
          try other.bus.restoreTurns(spoilt.raw, of: ConnectionID(rawValue: 1))
        }) != nil {
          refusedCount += 1
        }
        other.bus.finishRestoring(at: now)
        other.takeEffects()
        other.bus.markRead(by: delegate, at: now)
        other.takeEffects()
        for query: UInt64 in [1, 3, 7, 4, 5, 6, 8, 5, 6, 8] {
          other.answer(.approve, query: query, delegate: 1, from: delegate)
        }
        try #require(other.queryCount == 0, "\(offset)")
      }
      let (other, _) = try restored()
      #expect(
        refusal { () throws(WireError) in
          try other.bus.restoreTurns(Array(turns[..<offset]).raw, of: ConnectionID(rawValue: 1))
        } != nil)
    }
    #expect(refusedCount > turns.count)
  }

  @Test("A question to several delegates of a connection has the same userInfo in each turn")
  func severalDelegates() throws {
    for serial: Serial in 2...12 {
      bus.attach(["shouldX"], to: "o", by: delegate, serial: serial, label: "\(serial)")
    }
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: try slot(Self.bob), serial: 1, mode: .all, text: "info")
    var asked: [UInt64] = []
    while case let questions = bus.takeQuestions(), !questions.isEmpty {
      #expect(bus.take().filter { $0.contains("question") }.allSatisfy { $0.contains("info") })
      for one in questions {
        asked.append(one.question.delegate.rawValue)
        bus.answer(.approve, delegate: one.question.delegate.rawValue, from: delegate)
      }
    }
    #expect(asked == Array(1...12))
    #expect(bus.queryCount == 0)
  }

  @Test("A hundred users take turns, including in another bus", arguments: Restart.allCases)
  func manyUsers(_ restart: Restart) {
    let slots = (0..<100).map { bus.connect(uid: 2000 + $0) }
    for serial: Serial in 1...2 {
      for slot in slots { bus.ask("shouldX", by: slot, serial: serial) }
    }
    var (open, order) = (asked(), [UInt64]())
    while let query = open.first {
      order.append(open.removeFirst())
      approve(query)
      open += asked()
      guard query == 60 else { continue }
      _ = bus.take()
      bus.restart(restart)
    }
    #expect(order == Array(1...200))
    #expect(bus.queryCount == 0)
  }

  @Test("A question that could not be sent no longer waits, even if it was next")
  func failedTurn() throws {
    try ask(1...5, by: Self.bob)
    let now = bus.now
    bus.happen { $0.failQuestion(QueryID(rawValue: 4), DelegateID(rawValue: 1), reason: "full", at: now) }
    #expect(bus.take().contains { $0.contains("verdict 4 q4") && $0.contains("failed") })
    approve(1)
    #expect(asked() == [1, 2, 3, 5])
  }

  @Test("Answers to a bus without turns count in a bus that replays its log")
  func replayedWithoutTurns() throws {
    bus.bus.limits.questionsAtATime = .max
    bus.attach(["shouldX"], by: try slot(Self.root), serial: 1)
    try ask(1...6, by: Self.bob)
    bus.deferAnswer(9_000, query: 4, delegate: 1, from: delegate)
    bus.answer(.veto, query: 5, delegate: 1, from: delegate)
    approve(6)
    #expect(bus.queryCount == 5)
    let other = BusUnderTest { $0.questionsAtATime = 8 }
    let limits = other.bus.limits
    other.bus.beginReplay()
    try bus.replay(in: &other.bus)
    other.bus.endReplay()
    other.bus.limits = limits
    other.bus.finishRestoring(at: bus.now)
    other.takeEffects()
    #expect(other.queryCount == 5)
    for query: UInt64 in [1, 2, 3, 4] {
      other.answer(.approve, query: query, delegate: 1, from: delegate)
    }
    #expect(!other.take().contains { $0.contains("refused") })
  }

  @Test("A query keeps no userInfo if none of its delegates waits, however many there are")
  func manyConnections() throws {
    for _ in 0..<20 { bus.attach(["shouldX"], to: "o", by: bus.connect(), serial: 1) }
    bus.bus.limits.questionsMax = 10
    _ = bus.take()
    for serial: Serial in 1...2 {
      bus.ask("shouldX", object: "o", by: try slot(Self.bob), serial: serial, mode: .all, text: "userInfo")
    }
    #expect(bus.takeQuestions().count == 42)
    #expect(!bus.take().contains { $0.contains("refused") })
  }
}
