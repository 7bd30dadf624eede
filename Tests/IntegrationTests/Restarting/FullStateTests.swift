// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// What there is no room for is refused or not remembered; that is said, and keeps nobody from the bus.
@Suite("A full state", .timeLimit(.minutes(3)))
struct FullStateTests {
  private let bus: RestartedBus
  private let client: RawClient

  init() throws {
    bus = try RestartedBus(configuration: StateFilling.configuration)
    client = try RawClient.greeted(bus)
    try client.observe("load.*", serial: 1)
  }

  private static let isFull = "the state has no room for more"
  private static let hasRoom = "the state has room again"

  private func count(_ text: String) throws -> Int { try bus.log().split(separator: text).count - 1 }

  @Test("is said once, however much is given back and taken again in it")
  func churn() throws {
    let churner = try RawClient.greeted(bus)
    let name = "churn." + String(repeating: "x", count: 240)
    for serial in 1...200 as ClosedRange<Serial> { try churner.observe(name, serial: serial) }
    try StateFilling(bus).fill(downTo: 256)
    for serial in 1...4000 as ClosedRange<Serial> {
      try churner.send(Cancel(target: serial), serial: 0)
      try churner.send(Observe(), serial: serial + 200, name: name)
      _ = try churner.next(.ok)
      _ = try churner.next(.ok)
    }
    #expect(try count(Self.isFull) == 1)
    // What was there before survives, and so does who has it.
    try bus.crash()
    try StateFilling(bus).empty()
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }

  @Test("is not what the clients of one user make it: what they may register is remembered")
  func share() throws {
    let name = "share.n%." + String(repeating: "x", count: 240)
    // Beyond a quarter of 1 MiB.
    let most = (256 << 10) / (64 + 32 + name.utf8.count)
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
      #expect(frame.payload.contains("what the bus remembers for user"))
      break
    }
    #expect(serial > most - 20 && serial < most + 20)
    let other = try RawClient.greeted(bus)
    try other.send(Observe(), serial: 1, name: name.replacing("%", with: "9999"))
    #expect(try other.nextError() == .limitExceeded)
    #expect(try count(Self.isFull) == 0)
    try bus.crash()
    try other.send(Post(), serial: 2, name: name.replacing("%", with: "\(1000 + serial - 1)"))
    #expect(try client.next().header.serial == 2)
    try client.send(Cancel(target: 2), serial: 0)
    _ = try client.next(.ok)
    try other.observe(name.replacing("%", with: "9999"), serial: 1)
  }

  @Test("is not what a query makes it that is longer than all of it, which is refused")
  func longer() throws {
    let text = String(repeating: "x", count: 1 << 20)
    for serial in 2...5 as ClosedRange<Serial> {
      try client.send(Ask(), serial: serial, name: "a.shouldB", text: text)
      let refusal = try client.next(.error)
      #expect(try refusal.header.serial == serial && refusal.decode(Refusal.self).code == .limitExceeded)
      #expect(refusal.payload.contains("cannot remember a query of"))
    }
    #expect(try count(Self.isFull) == 0)
    try client.send(Ask(), serial: 6, name: "a.shouldB")
    #expect(try client.nextVerdict().verdict == .allowed)
  }

  @Test("is said once as long as there is no room for what had none")
  func long() throws {
    let poster = try RawClient.greeted(bus)
    func retain(_ text: String) throws {
      for number in 0..<10 {
        try poster.send(
          Post(options: .retain), serial: 1, flags: .acknowledge, name: "half.state", object: "\(number)",
          text: text)
        _ = try poster.next(.ok)
      }
    }
    /// Until the log has been swept more than once.
    func churn() throws {
      let name = "churn." + String(repeating: "x", count: 240)
      for serial in 100...6000 as ClosedRange<Serial> {
        try client.observe(name, serial: serial)
        try client.send(Cancel(target: serial), serial: 0)
        _ = try client.next(.ok)
      }
    }
    try retain(String(repeating: "x", count: 60_000))
    for serial in 2...4 as ClosedRange<Serial> {
      try client.send(
        Ask(), serial: serial, name: "a.shouldB", text: String(repeating: "x", count: 600_000))
      #expect(try client.nextError() == .limitExceeded)
      try churn()
    }
    #expect(try count(Self.isFull) == 1)
    #expect(try count(Self.hasRoom) == 0)
    try retain("")
    try churn()
    #expect(try count(Self.hasRoom) == 1)
    try client.send(Ask(), serial: 5, name: "a.shouldB", text: String(repeating: "x", count: 600_000))
    #expect(try client.nextVerdict().verdict == .allowed)
  }

  @Test("costs nobody its place whose predecessor's end had no room")
  func tenant() throws {
    let observer = try RawClient.greeted(bus)
    let departures = try Departures(ofBusAt: bus.path)
    var leaving: [(client: RawClient, welcome: Welcome)] = []
    for _ in 0..<16 { leaving.append(try RawClient.welcomed(bus)) }
    try StateFilling(bus).fill(downTo: 256)
    // The ends of the first ones take what room is left.
    while !leaving.isEmpty {
      let id = leaving.removeFirst().welcome.connection
      try departures.wait(for: id)
    }
    try bus.folder.write(
      StateFilling.configuration.replacing("=1M", with: "=2M"), to: "etc/tribuned.conf")
    try bus.command("reload")
    try observer.settle()
    let late = try RawClient.greeted(bus)
    try late.observe("late.*", serial: 1)
    try bus.crash()
    try late.send(Post(), serial: 2, name: "late.unit")
    #expect(try late.next().name == "late.unit")
    try client.send(Post(), serial: 2, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }

  @Test("is not what answers make it to the queries of one user")
  func answers() throws {
    let delegates = [try RawClient.greeted(bus), try RawClient.greeted(bus)]
    for delegate in delegates { try delegate.attach(Attach(patterns: ["p.size"]), serial: 1) }
    var open: [(asker: RawClient, question: Question)] = []
    let value = "\"\(String(repeating: "x", count: 60_000))\""
    for _ in 0..<20 {
      let asker = try RawClient.greeted(bus)
      try asker.send(Ask(mode: .collect), serial: 1, name: "p.size")
      try delegates[0].answer(try delegates[0].next(.question).decode(Question.self), .value, value)
      open.append((asker, try delegates[1].nextQuestion().question))
    }
    try delegates[0].settle()
    let answered = OutcomeKind.answered
    // Past a quarter of 1 MiB.
    let kept = (256 << 10) / 61_000
    for (number, (asker, question)) in open.enumerated().reversed() {
      try delegates[1].answer(question, .abstain)
      #expect(try asker.nextVerdict().outcomes.first?.outcome == (number < kept ? answered : .failed))
    }
    #expect(try count(Self.isFull) == 0)
  }

  /// Why nothing was kept of what a delegate said.
  enum Cut: CaseIterable {
    case noRoom, doesNotFit

    var reason: String {
      switch self {
      case .noRoom: "the answers for one asker have no more room"
      case .doesNotFit: "the value does not fit"
      }
    }
  }

  @Test("has no answer decide more after a death than it did before", arguments: Cut.allCases)
  func cut(_ cut: Cut) throws {
    let object = "wheel/1"
    try client.send(
      Declare(protocolName: "P"), serial: 2, object: object,
      text: "protocol P { optional value p.size () -> (text: string) }")
    _ = try client.next(.ok)
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
    try delegates[0].answer(first, .value, cut == .noRoom ? value(100_000) : "{\"text\": 1}")
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

  @Test("is not what replies that nobody reads make it")
  func unread() throws {
    let poster = try RawClient.greeted(bus)
    for number in 0..<10 {
      try poster.send(
        Post(options: .retain), serial: 1, flags: .acknowledge, name: "half.state", object: "\(number)",
        text: String(repeating: "x", count: 60_000))
      _ = try poster.next(.ok)
    }
    try client.send(
      Hold(), serial: 2, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    _ = try client.next(.ok)
    let deaf = try RawClient.greeted(bus)
    for serial in 1...200 as ClosedRange<Serial> { try deaf.send(Ask(), serial: serial, name: "a.shouldB") }
    let other = try RawClient.greeted(bus)
    try other.observe("other.*", serial: 1)
    try other.expectSilence(serial: 2)
    #expect(try count(Self.isFull) == 0)
    for serial in 1...200 as ClosedRange<Serial> { #expect(try deaf.next(.verdict).header.serial == serial) }
  }

  @Test("is found to have room when there is some, and takes down what comes then")
  func roomAgain() throws {
    for round in 1...2 {
      let filling = try StateFilling(bus)
      try filling.fill(downTo: 256)
      #expect(try count(Self.isFull) == round)
      try filling.empty()
      // It looks for room at most once a second, when something has none.
      var serial = 2 as Serial
      while try count(Self.hasRoom) < round {
        try client.observe("round.n\(round)", serial: serial)
        try client.send(Cancel(target: serial), serial: 0)
        _ = try client.next(.ok)
        serial += 1
      }
    }
    let late = try RawClient.greeted(bus)
    try late.observe("late.*", serial: 1)
    try bus.crash()
    try late.send(Post(), serial: 2, name: "late.unit")
    #expect(try late.next().name == "late.unit")
  }

  @Test("has what finds room later behind nothing that came after it: what was delivered is so once")
  func order() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nStateMax=2M\n")
    let observer = try RawClient.greeted(bus)
    try observer.observe("late.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    // A bus looks for room when it has served for a second. This one says when it has.
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 1100, patterns: ["a.shouldB"]), serial: 1)
    try poster.send(Ask(), serial: 1, name: "a.shouldB")
    #expect(try poster.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
    // Nothing of it lasts, and it is too little to be swept of itself.
    for _ in 0..<16 {
      try poster.send(
        Post(options: .retain), serial: 2, flags: .acknowledge, name: "unit.state",
        text: String(repeating: "x", count: 60_000))
      _ = try poster.next(.ok)
    }
    // So long that it neither has room beside that, nor waits.
    try poster.send(
      Post(style: .whenIdle), serial: 3, flags: .acknowledge, name: "late.unit",
      text: String(repeating: "x", count: 1_200_000))
    _ = try poster.next(.ok)
    #expect(try observer.next().name == "late.unit")
    for _ in 0..<2 {
      try bus.crash()
      try observer.expectSilence()
    }
  }

  @Test("of a bus whose place is taken: who has no room in it is told so, like anybody, and the others go on")
  func replaced() throws {
    let replaced = try ReplacedBus(configuration: StateFilling.configuration)
    let kept = try RawClient.greeted(replaced.bus)
    try kept.observe("load.*", serial: 1)
    let (client, welcome) = try RawClient.welcomed(replaced.bus)
    try client.observe("load.*", serial: 1)
    try StateFilling(replaced.bus).fill(downTo: 256)
    let long = "load." + String(repeating: "x", count: 240)
    try client.observe(long, serial: 2)
    for _ in 0..<2 { try replaced.replace() }
    // It has been greeted long ago.
    let told = try client.readToEnd()
    #expect(told.map(\.kind) == [.error])
    #expect(try told.first?.decode(Refusal.self).code == .restarted)
    let poster = try RawClient.greeted(replaced.bus)
    for name in ["load.unit", long] {
      try poster.send(Post(), serial: 1, name: name)
      #expect(try kept.next().name == name)
    }
    let successor = try RawClient.greeted(replaced.bus)
    try successor.observe("load.*", serial: 1)
    try successor.send(Succeed(predecessor: welcome.connection, received: 0), serial: 2)
    // Not all that it had registered is known: nor is what it has missed.
    #expect(try successor.nextError() == .notFound)
  }

  @Test("is one also of a bus that was to hand over whatever there was, and goes on after all")
  func goesOn() throws {
    let replaced = try ReplacedBus(configuration: StateFilling.configuration)
    let clients = try (0..<100).map { _ in try RawClient.greeted(replaced.bus) }
    let refused = try replaced.replaceInVain(wrapper: ["/usr/bin/prlimit", "--nofile=64:64"])
    #expect(refused.status == 1)
    #expect(try replaced.bus.log().contains("the bus goes on"))
    try StateFilling(replaced.bus).fill(downTo: 16_384)
    for client in clients { try client.settle() }
  }
}
