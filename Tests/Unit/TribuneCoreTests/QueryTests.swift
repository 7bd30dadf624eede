// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Queries", .timeLimit(.minutes(15)))
struct QueryTests {
  private let bus = BusUnderTest()

  typealias Case = ChainCase

  static let parallel: [Case] = [
    Case(.parallel, [], "allowed?"),
    Case(.parallel, [], fallback: .vetoed, "vetoed?"),
    Case(.parallel, [.approve], "allowed: d1 approved"),
    Case(.parallel, [.approve], fallback: .vetoed, "allowed: d1 approved"),
    Case(.parallel, [.veto], "vetoed: d1 vetoed (no 1)"),
    Case(.parallel, [.abstain], "allowed?: d1 abstained"),
    Case(.parallel, [.abstain], fallback: .vetoed, "vetoed?: d1 abstained"),
    Case(.parallel, [.abstain, .approve], fallback: .vetoed, "allowed: d1 abstained, d2 approved"),
    Case(.parallel, [.approve, .approve, .approve], "allowed: d1 approved, d2 approved, d3 approved"),
    Case(.parallel, [.approve, .veto, .approve], "vetoed: d1 approved, d2 vetoed (no 2)"),
    Case(.parallel, [.veto, .veto], "vetoed: d1 vetoed (no 1)"),
    Case(.parallel, [.silent], "vetoed: d1 timedOut"),
    Case(.parallel, [.silent], abstaining: [0], "allowed?: d1 timedOut"),
    Case(.parallel, [.silent], fallback: .vetoed, abstaining: [0], "vetoed?: d1 timedOut"),
    Case(.parallel, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
    Case(.parallel, [.silent, .silent], "vetoed: d1 timedOut, d2 timedOut"),
    Case(.parallel, [.silent, .veto], "vetoed: d2 vetoed (no 2)"),
    Case(.parallel, [.fail], "vetoed: d1 failed (broken 1)"),
    Case(.parallel, [.fail, .approve], abstaining: [0], "allowed: d1 failed (broken 1), d2 approved"),
    Case(.parallel, [.fail], abstaining: [0], "allowed?: d1 failed (broken 1)"),
    Case(.parallel, [.leave], "vetoed: d1 gone"),
    Case(.parallel, [.leave, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(.parallel, [.detach], "vetoed: d1 gone"),
    Case(.parallel, [.leave, .silent], "vetoed: d1 gone"),
    Case(.parallel, [.detach, .silent], "vetoed: d1 gone"),
    Case(.parallel, [.detach, .abstain], abstaining: [0], "allowed?: d1 gone, d2 abstained"),
    Case(.parallel, [.veto], fallback: .vetoed, abstaining: [0], "vetoed: d1 vetoed (no 1)"),
  ]

  static let all: [Case] = [
    Case(.all, [], "allowed?"),
    Case(.all, [.approve, .approve], "allowed: d1 approved, d2 approved"),
    Case(.all, [.veto, .approve, .veto], "vetoed: d1 vetoed (no 1), d2 approved, d3 vetoed (no 3)"),
    Case(.all, [.veto, .silent], "vetoed: d1 vetoed (no 1), d2 timedOut"),
    Case(.all, [.veto, .silent], abstaining: [1], "vetoed: d1 vetoed (no 1), d2 timedOut"),
    Case(.all, [.fail, .leave, .detach], "vetoed: d1 failed (broken 1), d2 gone, d3 gone"),
    Case(
      .all, [.fail, .leave, .detach, .silent], fallback: .vetoed, abstaining: [0, 1, 2, 3],
      "vetoed?: d1 failed (broken 1), d2 gone, d3 gone, d4 timedOut"),
    Case(.all, [.abstain, .abstain], "allowed?: d1 abstained, d2 abstained"),
    Case(.all, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
  ]

  static let inOrder: [Case] = [
    Case(.order, [], fallback: .vetoed, "vetoed?"),
    Case(.order, [.approve, .approve], "allowed: d1 approved, d2 approved"),
    Case(.order, [.veto, .approve], asked: [1], "vetoed: d1 vetoed (no 1)"),
    Case(.order, [.approve, .veto, .approve], asked: [1, 2], "vetoed: d1 approved, d2 vetoed (no 2)"),
    Case(.order, [.abstain, .abstain, .approve], "allowed: d1 abstained, d2 abstained, d3 approved"),
    Case(.order, [.silent, .approve], asked: [1], "vetoed: d1 timedOut"),
    Case(.order, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
    Case(.order, [.fail, .approve], asked: [1], "vetoed: d1 failed (broken 1)"),
    Case(.order, [.fail, .veto], abstaining: [0], "vetoed: d1 failed (broken 1), d2 vetoed (no 2)"),
    Case(.order, [.leave, .approve], asked: [1], "vetoed: d1 gone"),
    Case(.order, [.leave, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(.order, [.detach, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(
      .order, [.abstain, .silent], fallback: .vetoed, abstaining: [1], "vetoed?: d1 abstained, d2 timedOut"),
  ]

  @Test("have the verdict that follows from the replies of the chain", arguments: parallel + all + inOrder)
  func verdict(_ example: ChainCase) {
    let asked = bus.run(example).map(\.delegate.rawValue)
    let transcript = bus.take()
    #expect(transcript.filter { $0.contains("verdict") } == ["A verdict 5 q1 \(example.verdict)"])
    #expect(asked == example.asked)
    #expect(transcript.filter { $0.contains("concluded") } == example.concluded)
    #expect(bus.queryCount == 0)
    #expect(bus.nextDeadline == nil)
  }

  @Test("A question names the asker, and has its frame and the delegate's time")
  func question() throws {
    let (asker, delegate) = (bus.connect(pid: 42), bus.connect())
    bus.attach(["x.*"], to: "o", by: delegate, serial: 3, timeout: 700)
    _ = bus.take()
    bus.ask("x.shouldY", object: "o", by: asker, serial: 5, text: "{}")
    let question = try #require(bus.takeQuestions().first?.question)
    #expect(question.asker.pid == 42 && question.asker.units.system == "test.service")
    bus.expect("B question 3 q1 d1 700ms x.shouldYo{}")
  }

  @Test(
    "A delegate that is asked later receives the asker's frame", arguments: ["", "{\"force\": true}"],
    [QueryMode.order, .first])
  func laterQuestions(_ text: String, _ mode: QueryMode) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x", "shouldX", to: "o"))
    bus.attach(["**"], to: "o", by: delegate, serial: 2)
    _ = bus.take()
    bus.ask(mode.name, object: "o", by: asker, serial: 5, mode: mode, text: text)
    bus.expect("B question 1 q1 d1 5000ms \(mode.name)o\(text)")
    bus.ask(mode.isForValues ? "y.z" : "y.shouldZ", by: asker, serial: 6, mode: mode, text: "something else")
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.expect("B question 2 q1 d2 5000ms \(mode.name)o\(text)")
  }

  @Test("A question about an object in another form than all holds have it is refused")
  func objectForm() {
    let asker = bus.connect()
    bus.ask("unit.shouldStart", object: "nginx", by: asker, serial: 5)
    bus.expect("A refused 5 invalidObject")
    bus.ask("unit.shouldStart", object: "unit/nginx.service", by: asker, serial: 6)
    bus.expect("A verdict 6 q1 allowed?")
  }

  @Test("A veto is sticky: no later answer lifts it")
  func stickyVeto() {
    let (asker, one, other) = (bus.connect(), bus.connectDelegate("shouldX"), bus.connectDelegate("shouldX"))
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    _ = bus.take()
    bus.answer(.veto, "no", delegate: 1, from: one)
    bus.answer(.approve, delegate: 1, from: one)
    bus.deferAnswer(1000, delegate: 1, from: one)
    bus.expect("B refused 900 notAsked", "B refused 901 notAsked")
    bus.answer(.approve, delegate: 2, from: other)
    bus.expect(
      "A verdict 5 q1 vetoed: d1 vetoed (no), d2 approved", "B concluded 1 q1 d1 vetoed",
      "C concluded 1 q1 d2 vetoed")
  }

  @Test("A reason is cut at 4,096 bytes, between two characters, and repaired")
  func longReason() throws {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    bus.ask("shouldX", by: asker, serial: 5)
    _ = bus.take()
    bus.answer(.veto, "a" + String(repeating: "ü", count: 3000), delegate: 1, from: delegate)
    let verdict = try #require(bus.take().first)
    #expect(verdict.hasPrefix("A verdict 5 q1 vetoed: d1 vetoed (aüüü"))
    #expect(verdict.utf8.count <= "A verdict 5 q1 vetoed: d1 vetoed ()".utf8.count + WireLimits.reasonLength)
    #expect(verdict.hasSuffix("ü)") || verdict.hasSuffix("ü\u{FFFD})"))
  }

  @Test("Each outcome has its time")
  func elapsed() {
    let (asker, one, other) = (bus.connect(), bus.connectDelegate("shouldX"), bus.connectDelegate("shouldX"))
    bus.ask("shouldX", by: asker, serial: 5, mode: .order)
    bus.advance(milliseconds: 20)
    bus.answer(.approve, delegate: 1, from: one)
    bus.advance(milliseconds: 300)
    bus.answer(.approve, delegate: 2, from: other)
    #expect(bus.lastVerdict?.outcomes.map(\.elapsed) == [20_000, 300_000])
  }

  @Test(
    "An invalid query is refused",
    arguments: [
      ("", "", 0, .invalidName), ("a..b", "", 0, .invalidName), ("a.*", "", 0, .invalidName),
      ("shouldA", "\n", 0, .invalidObject), ("shouldA", "repo/*", 0, .invalidObject),
      ("tribune.shouldStop", "", 0, .reservedName),
      ("shouldA", "", 3_600_001, .invalidValue), ("shouldA", "", .max, .invalidValue),
    ] as [(String, String, UInt32, ErrorCode)])
  func refused(_ name: String, _ object: String, _ deadline: UInt32, _ code: ErrorCode) {
    bus.ask(name, object: object, by: bus.connect(), serial: 5, deadline: deadline)
    bus.expect("A refused 5 \(code)")
    #expect(bus.isEmpty)
  }

  @Test("The queries of a connection have a limit, and one that ends frees its place")
  func limit() {
    let bus = BusUnderTest { $0.queriesMax = 2 }
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    for serial in 5...7 { bus.ask("shouldX", by: asker, serial: Serial(serial)) }
    #expect(bus.take().last == "A refused 7 limitExceeded")
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.ask("shouldX", by: asker, serial: 7)
    #expect(bus.take().last == "B question 1 q3 d1 5000ms shouldX")
  }

  @Test("The delegates in all queries of a connection have a limit, and a query that ends frees its own")
  func participantLimit() {
    let bus = BusUnderTest { $0.participantsMax = 3 }
    let (asker, other, delegate) = (bus.connect(), bus.connect(), bus.connectDelegate("shouldX", "shouldY"))
    bus.attach(["shouldX"], by: delegate, serial: 2)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 6)
    bus.expect("A refused 6 limitExceeded")
    bus.ask("shouldY", by: asker, serial: 7)
    bus.ask("shouldX", by: other, serial: 5)
    #expect(bus.take().count == 3)
    #expect(bus.queryCount == 3)
    bus.cancel(5, by: asker)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 8)
    #expect(bus.take().count == 2)
    for slot in [asker, other, delegate] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test(
    "UserInfo for later questions has a limit, and a query that ends frees its own",
    arguments: [QueryMode.order, .first])
  func keptUserInfo(_ mode: QueryMode) {
    let bus = BusUnderTest { $0.questionsMax = 10 }
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x", "shouldX", "y", "shouldY"))
    bus.attach(["x", "shouldX"], by: delegate, serial: 2)
    _ = bus.take()
    bus.ask(mode.name, by: asker, serial: 5, mode: mode, text: "01234567890")
    bus.ask(mode.name, by: asker, serial: 6, mode: mode, text: "0")
    // Questions sent at once, or to a single delegate, keep no bytes.
    bus.ask("shouldX", by: asker, serial: 7, mode: .all, text: "01234567890")
    bus.ask(mode.isForValues ? "y" : "shouldY", by: asker, serial: 8, mode: mode, text: "01234567890")
    #expect(bus.take().filter { $0.hasPrefix("A") } == ["A refused 6 limitExceeded"])
    bus.cancel(5, by: asker)
    _ = bus.take()
    bus.ask(mode.name, by: asker, serial: 9, mode: mode, text: "012345")
    bus.ask(mode.name, by: asker, serial: 10, mode: mode, text: "0123")
    bus.ask(mode.name, by: asker, serial: 11, mode: mode, text: "0")
    #expect(bus.take().filter { $0.hasPrefix("A") } == ["A refused 11 limitExceeded"])
    for slot in [asker, delegate] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("A frame whose fields end early ends the connection")
  func malformed() throws {
    let slot = bus.connect()
    for kind in [FrameKind.ask, .attach, .answer, .defer, .cancel] {
      let frame = ByteBuffer { FrameHeader(kind: kind, serial: 1).append(to: $0) }
      #expect(bus.send(frame, from: slot)?.code == .malformedFrame)
    }
    #expect(bus.take().isEmpty)
  }
}
