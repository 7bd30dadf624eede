// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Users take turns to ask a delegate", .timeLimit(.minutes(15)))
struct QuestionTurnsTests {
  private static let (greedy, other): (UInt32, UInt32) = (65_534, 65_533)

  private let bus: TestBus
  /// Answers one question after the other, and abstains if it is too slow.
  private let delegate: RawClient

  init() throws {
    bus = try TestBus.allowingAll()
    delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(failurePolicy: .abstain, patterns: ["host.shouldReboot"]), serial: 1)
  }

  private func floodingClient(cancelling: Bool = false) throws -> RawClient {
    let client = try RawClient.greeted(bus, as: Self.greedy)
    let count: Serial = 1000
    try client.send { buffer in
      for serial in 1...count {
        buffer.appendFrame(Ask(), serial: serial, name: "host.shouldReboot")
        if cancelling { buffer.appendFrame(Cancel(target: serial), serial: count + serial) }
      }
    }
    if cancelling { for _ in 1...2 * count { _ = try client.next() } }
    try client.settle()
    return client
  }

  private func next() throws -> (user: UInt32, question: Question) {
    var frame = try delegate.next()
    while frame.kind == .concluded { frame = try delegate.next() }
    let question = try frame.decode(Question.self)
    return (question.asker.uid, question)
  }

  @Test("Other users' questions come after only a few of a user who asks a thousand")
  func flood() throws {
    let flood = try floodingClient()
    let (root, second) = (try RawClient.greeted(bus), try RawClient.greeted(bus, as: Self.other))
    for client in [root, second] { try client.send(Ask(), serial: 1, name: "host.shouldReboot") }
    var before = 0
    var left: Set<UInt32> = [0, Self.other]
    while !left.isEmpty {
      let (user, question) = try next()
      try delegate.answer(question, user == 0 ? .veto : .approve)
      if user == Self.greedy { before += 1 } else { left.remove(user) }
    }
    #expect(before <= 32)
    #expect(try root.nextVerdict().verdict == .vetoed)
    #expect(try second.nextVerdict().verdict == .allowed)
    withExtendedLifetime(flood) {}
  }

  @Test("A delegate that does not read gets few ended questions, and then those of other users")
  func endedQuestions() throws {
    let flood = try floodingClient(cancelling: true)
    let root = try RawClient.greeted(bus)
    try root.send(Ask(), serial: 1, name: "host.shouldReboot")
    try root.settle()
    var before = 0
    var (user, question) = try next()
    while user == Self.greedy {
      before += 1
      (user, question) = try next()
    }
    #expect(before == 30)
    try delegate.answer(question, .veto)
    #expect(try root.nextVerdict().verdict == .vetoed)
    try flood.send(Ask(), serial: 5000, name: "host.shouldReboot")
    #expect(try next().user == Self.greedy)
  }

  @Test("A delegate that always has notifications to read still gets its next questions")
  func readingSlowly() throws {
    try delegate.observe("load.*", serial: 2)
    let client = try RawClient.greeted(bus, as: Self.greedy)
    let poster = try RawClient.greeted(bus, as: Self.other)
    for serial in 1...40 as ClosedRange<Serial> {
      try client.send(Ask(), serial: serial, name: "host.shouldReboot")
    }
    for serial in 1...30 as ClosedRange<Serial> {
      try client.send(Cancel(target: serial), serial: 100 + serial)
    }
    try client.settle()
    var (asked, posted) = (0, 0)
    while asked < 40 {
      while posted < 20 {
        try poster.send(Post(), serial: 1, flags: .acknowledge, name: "load.level")
        _ = try poster.next(.ok)
        posted += 1
      }
      switch try delegate.next().kind {
      case .question: asked += 1
      case .post: posted -= 1
      default: break
      }
    }
  }
}
