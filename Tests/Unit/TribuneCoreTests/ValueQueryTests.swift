// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Value queries", .timeLimit(.minutes(15)))
struct ValueQueryTests {
  private let bus = BusUnderTest()

  typealias Case = ChainCase

  static let first: [Case] = [
    Case(.first, [], "vetoed?"),
    Case(.first, [.value("1")], "allowed: d1 answered (1)"),
    Case(.first, [.value("1"), .value("2")], asked: [1], "allowed: d1 answered (1)"),
    Case(
      .first, [.abstain, .value("2"), .value("3")], asked: [1, 2], "allowed: d1 abstained, d2 answered (2)"),
    Case(.first, [.approve, .value("2")], "allowed: d1 approved, d2 answered (2)"),
    Case(.first, [.approve], "vetoed?: d1 approved"),
    Case(.first, [.veto, .value("2")], "allowed: d1 vetoed (no 1), d2 answered (2)"),
    Case(.first, [.veto], "vetoed?: d1 vetoed (no 1)"),
    Case(.first, [.fail, .value("2")], "allowed: d1 failed (broken 1), d2 answered (2)"),
    Case(
      .first, [.fail, .value("2")], abstaining: [0, 1], "allowed: d1 failed (broken 1), d2 answered (2)"),
    Case(.first, [.silent, .value("2")], "allowed: d1 timedOut, d2 answered (2)"),
    Case(.first, [.leave, .value("2")], "allowed: d1 gone, d2 answered (2)"),
    Case(.first, [.detach, .value("2")], "allowed: d1 gone, d2 answered (2)"),
    Case(
      .first, [.abstain, .silent, .leave, .fail, .detach],
      "vetoed?: d1 abstained, d2 timedOut, d3 gone, d4 failed (broken 4), d5 gone"),
  ]

  static let collect: [Case] = [
    Case(.collect, [], "vetoed?"),
    Case(.collect, [.value("1"), .value("2")], "allowed: d1 answered (1), d2 answered (2)"),
    Case(.collect, [.abstain, .value("2")], "allowed: d1 abstained, d2 answered (2)"),
    Case(.collect, [.approve, .veto], "vetoed?: d1 approved, d2 vetoed (no 2)"),
    Case(.collect, [.veto, .value("2")], "allowed: d1 vetoed (no 1), d2 answered (2)"),
    Case(
      .collect, [.value("1"), .silent, .value("3"), .leave, .fail, .detach],
      "allowed: d1 answered (1), d2 timedOut, d3 answered (3), d4 gone, d5 failed (broken 5), d6 gone"),
    Case(.collect, [.silent, .silent], abstaining: [0, 1], "vetoed?: d1 timedOut, d2 timedOut"),
  ]

  @Test(
    "Have the values of the chain: a delegate without a value does not end them", arguments: first + collect,
    [VerdictKind.allowed, .vetoed])
  func verdict(_ example: ChainCase, _ fallback: VerdictKind) {
    let questions = bus.run(example, fallback: fallback)
    #expect(questions.allSatisfy { $0.wantsValue && !$0.isDryRun })
    #expect(questions.map(\.delegate.rawValue) == example.asked)
    #expect(bus.lastVerdict?.summary == example.verdict)
    #expect(bus.take().filter { $0.contains("concluded") } == example.concluded)
    #expect(bus.queryCount == 0 && bus.nextDeadline == nil)
    #expect(bus.verdictCounts == [0, 0], "a value is no verdict")
  }

  @Test(
    "A value can be any bytes, including none", arguments: [[], [0x00, 0xFF, 0x80]] as [[UInt8]])
  func bytes(_ value: [UInt8]) throws {
    let (asker, source) = (bus.connect(), bus.connectDelegate("x"))
    bus.ask("x", by: asker, serial: 5, mode: .first)
    let frame = ByteBuffer(capacity: 0)
    frame.appendFrame(
      Answer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), answer: .value), serial: 9,
      payload: value.raw)
    bus.send(frame, from: source)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.map(\.outcome) == [.answered] && verdict.outcomes.map(\.value) == [value])
    #expect(verdict.verdict == .allowed && !verdict.isUnanswered)
  }

  @Test(
    "In modes that ask for permission, a value is a failure, and the failure policy decides",
    arguments: QueryMode.leave)
  func valueForLeave(_ mode: QueryMode) {
    for (policy, verdict) in [(FailurePolicy.veto, VerdictKind.vetoed), (.abstain, .allowed)] {
      let bus = BusUnderTest()
      let (asker, source) = (bus.connect(), bus.connectDelegate("shouldX", policy: policy))
      bus.ask("shouldX", by: asker, serial: 5, mode: mode)
      bus.answer(.value, "7", delegate: 1, from: source)
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.failed])
      #expect(bus.lastVerdict?.outcomes.map(\.value) == [[]])
      #expect(bus.lastVerdict?.verdict == verdict)
    }
  }

  @Test("A reason beyond the limit is omitted, and the veto stays")
  func reasonsAreBounded() {
    let bus = BusUnderTest { $0.answersMax = 10 }
    let (asker, delegate) = (bus.connect(), bus.connect())
    for label in 1...2 { bus.attach(["shouldX"], by: delegate, serial: Serial(label), label: "\(label)") }
    for serial in 5...6 {
      bus.ask("shouldX", by: asker, serial: Serial(serial), mode: .all)
      let query = UInt64(serial - 4)
      bus.answer(.veto, "12345678", query: query, delegate: 1, from: delegate)
      bus.answer(.veto, "123", query: query, delegate: 2, from: delegate)
      // The second query has the same limit, because the first freed its bytes.
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.vetoed, .vetoed])
      #expect(bus.lastVerdict?.outcomes.first?.reason == "12345678")
      #expect(bus.lastVerdict?.outcomes.last?.reason.hasPrefix("the limit on the answers") == true)
    }
  }

  @Test("The answers to all queries of a connection have a limit, and each query frees its own")
  func bounds() {
    let bus = BusUnderTest { $0.answersMax = 10 }
    let (asker, other, source) = (bus.connect(), bus.connect(), bus.connectDelegate("x"))
    bus.attach(["x"], by: source, serial: 2, label: "two")
    bus.ask("x", by: asker, serial: 5, mode: .collect)
    bus.ask("x", by: asker, serial: 6, mode: .collect)
    bus.ask("x", by: other, serial: 5, mode: .collect)
    _ = bus.take()
    bus.answer(.value, "123456", query: 1, delegate: 1, from: source)
    bus.answer(.value, "1234", query: 2, delegate: 1, from: source)
    bus.answer(.value, "1234567890", query: 3, delegate: 1, from: source)
    #expect(bus.take().isEmpty)
    bus.answer(.value, "1", query: 2, delegate: 2, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .failed])
    #expect(bus.lastVerdict?.outcomes.map(\.value.count) == [4, 0])
    bus.answer(.value, "1234", query: 1, delegate: 2, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .answered])
    bus.cancel(5, by: other)
    bus.ask("x", by: other, serial: 6, mode: .first)
    bus.answer(.value, "1234567890", query: 4, delegate: 1, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.value.count) == [10])
    for slot in [asker, other, source] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }
}
