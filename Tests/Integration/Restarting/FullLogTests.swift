// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("A full log", .timeLimit(.minutes(15)))
struct FullLogTests {
  private let bus: RestartedBus
  private let client: RawClient

  init() throws {
    bus = try RestartedBus(configuration: LogFilling.configuration())
    client = try RawClient.observing("load.*", on: bus)
  }

  private static let isFull = "the log is full"
  private static let hasRoom = "the log has space again"

  private func count(_ text: String) throws -> Int { try bus.log().split(separator: text).count - 1 }

  @Test("is logged once for any number of refusals, and its earlier entries survive")
  func refused() throws {
    try LogFilling(bus).fill()
    let watcher = try RawClient.observing("load.*", on: bus)
    for serial in 2...100 as ClosedRange<Serial> {
      try client.send(Hold(), serial: serial, name: "other.*", text: "full")
      let refusal = try client.next(.error)
      #expect(try refusal.decode(Refusal.self).code == .limitExceeded)
      #expect(refusal.payload.contains("LogMax="))
    }
    #expect(try count(Self.isFull) == 1)
    try bus.crash()
    #expect(try watcher.readToEnd().isEmpty)
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }

  @Test("cannot be filled by frames that leave nothing in it")
  func deferrals() throws {
    let folder = try TestFolder()
    try folder.write("allow * user.65534.** user:65534\n", to: "etc/policy.d/user.policy")
    let bus = try RestartedBus(folder: folder)
    let client = try RawClient.greeted(bus)
    let delegate = try RawClient.greeted(bus, as: 65_534)
    try delegate.attach(Attach(timeout: 600_000, patterns: ["user.65534.shouldA"]), serial: 1)
    // They do not read their deferral notices, which fill half of the log.
    let askers = try (0..<100).map { _ in try RawClient.greeted(bus, as: 65_534) }
    var questions: [Question] = []
    for asker in askers {
      try asker.send(Ask(deadline: 600_000), serial: 1, name: "user.65534.shouldA")
      let question = try delegate.nextQuestion().question
      try delegate.send(
        Defer(query: question.query, delegate: question.delegate, extension: 600_000), serial: 0)
      questions.append(question)
    }
    func deferAll(_ count: Int) throws {
      try delegate.send { buffer in
        for _ in 0..<count {
          for question in questions {
            let fields = Defer(query: question.query, delegate: question.delegate, extension: 600_000)
            buffer.appendFrame(fields, serial: 0)
          }
        }
      }
    }
    for serial in 1...25 as ClosedRange<Serial> {
      try deferAll(1000)
      try client.send(Hold(), serial: serial, name: "host.*", text: "busy")
      #expect(try client.next().kind == .ok)
      try client.send(Cancel(target: serial), serial: 5000)
      #expect(try client.next().kind == .ok)
    }
    #expect(try !bus.log().contains(Self.isFull))
    withExtendedLifetime(askers) {}
  }

  @Test("cannot be filled by one user, who has a share of it")
  func share() throws {
    let name = "share.n%." + String(repeating: "x", count: 240)
    // Five sixteenths of 1 MiB: the bus's user may have everything that others leave.
    let most = (5 << 16) / (64 + 32 + name.utf8.count)
    var serial = 2 as Serial
    while true {
      let number = "\(1000 + serial)"
      try client.send(Observe(), serial: serial, name: name.replacing("%", with: number))
      let frame = try client.next()
      guard frame.kind == .error else {
        serial += 1
        continue
      }
      #expect(try frame.decode(Refusal.self).code == .limitExceeded)
      #expect(frame.payload.contains("bytes of the log (LogMax=)"))
      break
    }
    #expect(serial > most - 20 && serial < most + 20)
    let other = try RawClient.greeted(bus)
    try other.send(Observe(), serial: 1, name: name.replacing("%", with: "9999"))
    #expect(try other.nextError() == .limitExceeded)
    #expect(try count(Self.isFull) == 0)
    try client.sendConfirmed(Cancel(target: 2), serial: 0)
    try other.observe(name.replacing("%", with: "9999"), serial: 1)
  }

  @Test("is not reported for a query that is longer than the whole log, which is refused")
  func longer() throws {
    let text = String(repeating: "x", count: 1 << 20)
    for serial in 2...5 as ClosedRange<Serial> {
      try client.send(Ask(), serial: serial, name: "a.shouldB", text: text)
      let refusal = try client.next(.error)
      #expect(try refusal.header.serial == serial && refusal.decode(Refusal.self).code == .limitExceeded)
      #expect(refusal.payload.contains("a frame of 10"))
    }
    #expect(try count(Self.isFull) == 0)
    #expect(try client.ask("a.shouldB", serial: 6).verdict == .allowed)
  }

  @Test("is logged once until the refused entry would fit")
  func long() throws {
    let poster = try RawClient.greeted(bus)
    func churn() throws {
      let name = "churn." + String(repeating: "x", count: 240)
      for serial in 100...6000 as ClosedRange<Serial> {
        try client.observe(name, serial: serial)
        try client.sendConfirmed(Cancel(target: serial), serial: 0)
      }
    }
    try poster.retain(10, as: "half.state", text: String(repeating: "x", count: 60_000))
    for serial in 2...4 as ClosedRange<Serial> {
      try client.send(Ask(), serial: serial, name: "a.shouldB", text: String(repeating: "x", count: 600_000))
      #expect(try client.nextError() == .limitExceeded)
      try churn()
    }
    #expect(try count(Self.isFull) == 1)
    #expect(try count(Self.hasRoom) == 0)
    try poster.retain(10, as: "half.state", text: "")
    try churn()
    #expect(try count(Self.hasRoom) == 1)
    try client.send(Ask(), serial: 5, name: "a.shouldB", text: String(repeating: "x", count: 600_000))
    #expect(try client.nextVerdict().verdict == .allowed)
  }

  @Test("still records the ends of connections, and loses no other connection for that")
  func tenant() throws {
    let observer = try RawClient.greeted(bus)
    let departures = try Departures(ofBusAt: bus.path)
    var leaving: [(client: RawClient, welcome: Welcome)] = []
    for _ in 0..<16 { leaving.append(try RawClient.welcomed(bus)) }
    try LogFilling(bus).fill()
    while !leaving.isEmpty {
      let id = leaving.removeFirst().welcome.connection
      try departures.wait(for: id)
    }
    try bus.bus.reload(LogFilling.configuration(logMax: "4M"))
    try observer.settle()
    let late = try RawClient.observing("late.*", on: bus)
    try bus.crash()
    try late.send(Post(), serial: 2, name: "late.unit")
    #expect(try late.next().name == "late.unit")
    try client.send(Post(), serial: 2, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }

  enum Cut: CaseIterable {
    case noRoom, doesNotFit

    var reason: String {
      switch self {
      case .noRoom: "the limit on the answers to one asker is reached"
      case .doesNotFit: "the value does not fit"
      }
    }
  }

  @Test("gives an answer the same weight after a death as before", arguments: Cut.allCases)
  func cut(_ cut: Cut) throws {
    let object = "wheel/1"
    try client.sendConfirmed(
      Declare(protocolName: "P"), serial: 2, object: object,
      text: "protocol P { optional value p.size () -> (text: string) }")
    let delegates = [try RawClient.greeted(bus), try RawClient.greeted(bus)]
    for (order, delegate) in delegates.enumerated() {
      let fields = Attach(order: Int32(order), patterns: ["p.size"], protocols: ["P"])
      try delegate.attach(fields, object: object, serial: 1)
    }
    func value(_ length: Int) -> String { "{\"text\": \"\(String(repeating: "x", count: length))\"}" }

    try client.send(Ask(mode: .collect), serial: 3, name: "p.size", object: object)
    for (length, delegate) in zip([200_000, 10], delegates) {
      let question = try delegate.nextQuestion().question
      if length > 10 { try delegate.answer(question, .value, value(length)) }
    }
    try client.send(Ask(mode: .first), serial: 4, name: "p.size", object: object)
    let first = try delegates[0].nextQuestion().question
    try delegates[0].answer(first, .value, cut == .noRoom ? value(150_000) : "{\"text\": 1}")
    let second = try delegates[1].nextQuestion().question
    if cut == .doesNotFit { #expect(try delegates[0].nextError() == .invalidParameter) }
    try bus.crash()
    try delegates[1].answer(second, .value, value(10))
    let verdict = try client.nextVerdict()
    #expect(verdict.outcomes.map(\.outcome) == [.failed, .answered])
    #expect(verdict.outcomes.first?.reason.hasPrefix(cut.reason) == true)
    #expect(try delegates[0].nextConclusion() == .allowed)
    #expect(try count(Self.isFull) == 0)
  }

  @Test("is not caused by replies that are not read")
  func unread() throws {
    let poster = try RawClient.greeted(bus)
    try poster.retain(10, as: "half.state", text: String(repeating: "x", count: 60_000))
    try client.sendConfirmed(
      Hold(), serial: 2, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    let deaf = try RawClient.greeted(bus)
    for serial in 1...200 as ClosedRange<Serial> { try deaf.send(Ask(), serial: serial, name: "a.shouldB") }
    let other = try RawClient.observing("other.*", on: bus)
    try other.expectSilence(serial: 2)
    #expect(try count(Self.isFull) == 0)
    for serial in 1...200 as ClosedRange<Serial> { #expect(try deaf.next(.verdict).header.serial == serial) }
  }

  @Test("notices new space, and records the next entries")
  func roomAgain() throws {
    var serial = 2 as Serial
    for round in 1...2 {
      let filling = try LogFilling(bus)
      try filling.fill()
      #expect(try count(Self.isFull) == round)
      try filling.empty()
      repeat {
        serial += 1
        try client.send(Hold(), serial: serial, name: "round.shouldN\(round)", text: "full")
      } while try client.next().kind == .error
      #expect(try count(Self.hasRoom) == round)
    }
    let late = try RawClient.observing("late.*", on: bus)
    try bus.crash()
    try late.send(Post(), serial: 2, name: "late.unit")
    #expect(try late.next().name == "late.unit")
  }

  @Test("loses nothing at a planned restart")
  func restarted() throws {
    try LogFilling(bus).fill()
    for serial in 2...3 as ClosedRange<Serial> {
      try bus.restart()
      try client.send(Hold(), serial: serial, name: "other.*", text: "full")
      #expect(try client.nextError() == .limitExceeded)
    }
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }
}
