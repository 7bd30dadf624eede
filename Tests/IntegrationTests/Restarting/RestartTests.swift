// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// A bus that is restarted goes on with all its connections, whether it handed them over or died.
@Suite("Restarts", .timeLimit(.minutes(2)))
struct RestartTests {
  /// How a daemon is followed by another one.
  enum Way: CaseIterable {
    case planned
    case crash
  }

  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  private func end(_ way: Way) throws {
    switch way {
    case .planned: try bus.end(SIGTERM)
    case .crash: try bus.die()
    }
  }

  private func restart(_ way: Way) throws {
    switch way {
    case .planned: try bus.restart()
    case .crash: try bus.crash()
    }
  }

  @Test("an observer goes on observing", arguments: Way.allCases)
  func observer(_ way: Way) throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("unit.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    for round in 1...3 {
      try restart(way)
      try poster.send(Post(), serial: 1, name: "unit.didStart", text: "\(round)")
      let notification = try observer.next()
      #expect(notification.kind == .post)
      #expect(notification.payload == "\(round)")
    }
    try observer.send(Cancel(target: 1), serial: 2)
    #expect(try observer.next(.ok).header.serial == 2)
    try poster.send(Post(), serial: 2, flags: .acknowledge, name: "unit.didStart")
    _ = try poster.next(.ok)
    try observer.expectSilence()
  }

  @Test("what was counted goes on", arguments: Way.allCases)
  func figures(_ way: Way) throws {
    let client = try RawClient.greeted(bus)
    try client.send(Hold(), serial: 1, name: "a.shouldB", text: "backup")
    _ = try client.next(.ok)
    try client.observe("load.*", serial: 2)
    for serial in 3...5 as ClosedRange<Serial> {
      try client.send(Post(), serial: serial, flags: .acknowledge, name: "load.unit")
      _ = try client.next(.ok)
    }
    for name in ["a.shouldB", "b.shouldC"] {
      try client.send(Ask(), serial: 6, name: name)
      _ = try client.nextVerdict()
    }
    let before = try client.busEntry()
    #expect((before.asked, before.vetoed, before.posted, before.delivered) == (2, 1, 3, 3))
    for _ in 0..<2 {
      try restart(way)
      let after = try client.busEntry()
      #expect((after.asked, after.vetoed) == (2, 1))
      // After a death, those go on from where they were last written down.
      if way == .planned { #expect((after.posted, after.delivered) == (3, 3)) }
    }
  }

  @Test(
    "a file that is retained under two names is kept once, until it is so under none",
    arguments: Way.allCases)
  func sharedFile(_ way: Way) throws {
    let poster = try RawClient.greeted(bus)
    let contents = SharedFile.bytes(100_000)
    let file = try SharedFile.make(contents)
    for object in ["a", "b"] {
      try poster.post(
        "kept.file", object: object, options: .retain, file: file, length: contents.count, serial: 1,
        flags: .acknowledge)
      _ = try poster.next(.ok)
    }
    for object in ["a", "b"] {
      try poster.send(
        Post(options: .retain), serial: 2, flags: .acknowledge, name: "kept.file", object: object)
      _ = try poster.next(.ok)
      guard object == "a" else { continue }
      try restart(way)
      let late = try RawClient.greeted(bus)
      try late.send(Observe(options: .retained), serial: 1, name: "kept.*")
      let kept = try late.next(.retained)
      #expect(kept.object == "b" && kept.payloadBytes == contents)
    }
    #expect(try bus.endCountingFiles() == 0)
  }

  @Test("a hold holds, and goes with its connection", arguments: Way.allCases)
  func hold(_ way: Way) throws {
    let asker = try RawClient.greeted(bus)
    do {
      let holder = try RawClient.greeted(bus)
      try holder.send(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
      _ = try holder.next(.ok)
      try restart(way)
      try asker.send(Ask(), serial: 1, name: "host.shouldReboot")
      let verdict = try asker.nextVerdict()
      #expect(verdict.verdict == .vetoed)
      #expect(verdict.outcomes.map(\.reason) == ["backup"])
      try withExtendedLifetime(holder) { try end(way) }
    }
    // It has gone while there was no daemon.
    try bus.start()
    try asker.send(Ask(), serial: 2, name: "host.shouldReboot")
    #expect(try asker.nextVerdict().verdict == .allowed)
  }

  @Test(
    "a chain keeps its order, and a delegate that replaced others has still replaced them",
    arguments: Way.allCases)
  func chain(_ way: Way) throws {
    let clients = try (0..<4).map { _ in try RawClient.greeted(bus) }
    let replaced = try clients[0].attach(Attach(label: "first", patterns: ["a.*"]), object: "w/1", serial: 1)
    try clients[1].attach(
      Attach(order: 5, label: "second", patterns: ["a.*"], isSet: true), object: "w/1", serial: 1)
    _ = try clients[0].next(.ended)
    try clients[2].attach(Attach(order: 5, label: "third", patterns: ["a.*"]), object: "w/1", serial: 1)
    try clients[3].attach(Attach(order: 1, label: "fourth", patterns: ["a.*"]), object: "w/1", serial: 1)
    for _ in 0..<2 { try restart(way) }
    let labels = try clients[0].list(List(.chain), name: "a.shouldB", object: "w/1").compactMap { entry in
      if case .delegate(let delegate) = entry { delegate.delegate.label } else { nil as String? }
    }
    #expect(labels == ["fourth", "second", "third"])
    let fresh = try clients[0].attach(Attach(label: "fifth", patterns: ["a.*"]), object: "w/1", serial: 2)
    #expect(fresh > replaced)
  }

  @Test("what is declared keeps its protocol when its definer has gone", arguments: Way.allCases)
  func declarations(_ way: Way) throws {
    let declarer = try RawClient.greeted(bus)
    let departures = try Departures(ofBusAt: bus.path)
    let gone: ConnectionID
    do {
      let (definer, welcome) = try RawClient.welcomed(bus)
      gone = welcome.connection
      try definer.send(Declare(), serial: 1, text: "protocol P { optional did p.didTurn (by: int) }")
      _ = try definer.next(.ok)
      try declarer.send(Declare(protocolName: "P"), serial: 1, object: "wheel/1")
      _ = try declarer.next(.ok)
    }
    try departures.wait(for: gone)
    #expect(try declarer.list(List(.protocols)).isEmpty)
    for serial in Serial(2)...3 {
      // What is dead is left out of the state by the one that takes over.
      try restart(way)
      try declarer.send(
        Post(), serial: serial, flags: .acknowledge, name: "p.didTurn", object: "wheel/1", text: "{}")
      #expect(try declarer.nextError() == .invalidParameter)
    }
  }

  @Test("a query under way comes to its verdict", arguments: Way.allCases)
  func query(_ way: Way) throws {
    let delegates = try (0..<2).map { _ in try RawClient.greeted(bus) }
    for (index, delegate) in delegates.enumerated() {
      try delegate.attach(Attach(timeout: 60_000, label: "\(index)", patterns: ["a.shouldB"]), serial: 1)
    }
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(deadline: 60_000, mode: .all), serial: 7, name: "a.shouldB", text: "{}")
    let questions = try delegates.map { try $0.nextQuestion().question }
    try delegates[0].answer(questions[0], .approve)
    try delegates[0].settle()
    try restart(way)
    try delegates[1].answer(questions[1], .veto, "no")
    let frame = try asker.next(.verdict)
    #expect(frame.header.serial == 7)
    let verdict = try frame.decode(Verdict.self)
    #expect(verdict.query == questions[0].query)
    #expect(verdict.outcomes.map(\.outcome) == [.approved, .vetoed])
    #expect(verdict.outcomes.map(\.reason) == ["", "no"])
    for delegate in delegates { #expect(try delegate.nextConclusion() == .vetoed) }
    try asker.expectSilence()
  }

  @Test("what is answered with the serial of a registration takes nothing from it", arguments: Way.allCases)
  func serials(_ way: Way) throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 60_000, label: "x", patterns: ["a.shouldB"]), serial: 7)
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(options: .awaited), serial: 7, name: "unit.*")
    _ = try observer.next(.ok)
    let (asker, welcome) = try RawClient.welcomed(bus)
    for round in Serial(1)...4 {
      try asker.send(Ask(deadline: 60_000), serial: round, name: "a.shouldB")
      let question = try delegate.nextQuestion().question
      try delegate.send(
        Answer(query: question.query, delegate: question.delegate, answer: .veto), serial: 7, text: "no")
      #expect(try asker.nextVerdict().outcomes.map(\.reason) == ["no"])
      try asker.send(Post(options: .awaited, deadline: 60_000), serial: 10 + round, name: "unit.willStop")
      _ = try observer.next(.post)
      try observer.send(Done(poster: welcome.connection, post: 10 + round), serial: 7)
      #expect(try asker.next(.awaited).decode(Awaited.self).acknowledged == 1)
      try restart(way)
    }
  }

  @Test("a delegate that goes while there is no daemon has gone", arguments: Way.allCases)
  func goneMeanwhile(_ way: Way) throws {
    let asker = try RawClient.greeted(bus)
    do {
      let delegate = try RawClient.greeted(bus)
      try delegate.attach(Attach(timeout: 60_000, label: "x", patterns: ["a.shouldB"]), serial: 1)
      try asker.send(Ask(deadline: 60_000), serial: 7, name: "a.shouldB")
      _ = try delegate.nextQuestion()
      try withExtendedLifetime(delegate) { try end(way) }
    }
    try bus.start()
    let verdict = try asker.nextVerdict()
    #expect(verdict.verdict == .vetoed)
    #expect(verdict.outcomes.map(\.outcome) == [.gone])
  }

  @Test("what is retained is still there, and what was cleared is not", arguments: Way.allCases)
  func retained(_ way: Way) throws {
    let poster = try RawClient.greeted(bus)
    for (serial, text) in [(1, "one"), (2, "two"), (3, "three")] {
      try poster.send(
        Post(options: .retain), serial: Serial(serial), flags: .acknowledge, name: "unit.state",
        object: "u/\(serial)",
        text: text)
      _ = try poster.next(.ok)
    }
    try poster.send(Post(options: .retain), serial: 4, flags: .acknowledge, name: "unit.state", object: "u/2")
    _ = try poster.next(.ok)
    for _ in 0..<2 { try restart(way) }
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(options: .retained), serial: 1, name: "unit.*")
    #expect(try [observer.next(.retained), observer.next(.retained)].map(\.payload) == ["one", "three"])
    #expect(try observer.next().kind == .ok)
  }

  @Test("what was refused stays refused, and takes no id", arguments: Way.allCases)
  func refused(_ way: Way) throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    do {
      let asker = try RawClient.greeted(bus)
      try asker.send(Ask(deadline: .max), serial: 1, name: "a.shouldB")
      #expect(try asker.nextError() == .invalidValue)
      try asker.send(Observe(), serial: 2, name: "not a name")
      #expect(try asker.nextError() == .invalidPattern)
      try asker.send(Ask(), serial: 3, name: "a.shouldB")
      try delegate.answer(try delegate.nextQuestion().question, .approve)
      #expect(try asker.nextVerdict().verdict == .allowed)
    }
    for _ in 0..<2 { try restart(way) }
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(), serial: 1, name: "a.shouldB")
    let question = try delegate.nextQuestion().question
    #expect(question.query.rawValue > 1)
    try delegate.answer(question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
    #expect(try asker.list(List(.observations)).isEmpty)
  }

  @Test("a log that is just being swept is handed over and read", arguments: Way.allCases)
  func sweptLog(_ way: Way) throws {
    let bus = try RestartedBus(configuration: "[Bus]\nStateMax=1M\n")
    let client = try RawClient.greeted(bus)
    var churn = Churn(try RawClient.greeted(bus))
    try bus.command("await c 2")
    var kept: Serial = 0
    for _ in 0..<3 {
      let other = try RawClient.greeted(bus)
      var log: StoredLog
      repeat {
        kept += 1
        try client.observe("unit.n\(kept)", serial: kept)
        try churn.round()
        // What is sent in a pass has been sent when the next one is over.
        try other.settle()
        log = try bus.storedLog()
        // A sweep begins long before.
        try #require(kept < 1000)
      } while !log.isBeingSwept
      try bus.end(way == .planned ? SIGTERM : SIGKILL)
      try bus.start()
      for serial in 1...kept {
        try churn.client.send(Post(), serial: serial, name: "unit.n\(serial)")
        #expect(try client.next(.post).header.serial == serial)
      }
      try client.expectSilence()
    }
  }

  @Test("what a connection has posted and lost stays counted, and what it loses by a crash is added")
  func counts() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nPaceMaxSec=1ms\n")
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    _ = try observer.next(.ok)
    let poster = try RawClient.greeted(bus)
    let posted = 3000
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...posted {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    let before = try Self.counts(poster)
    // With what it settled by.
    #expect(before.posted == posted + 1)
    #expect(before.lost > 0)
    // While it has not been told of them.
    try bus.restart()
    #expect(try Self.counts(poster) == before)
    var (received, lost) = (0, 0)
    try observer.count(to: posted, &received, &lost)
    #expect(lost == before.lost)
    try bus.crash()
    #expect(try Self.counts(poster) == before)
    try observer.send(Suspend(isSuspended: true), serial: 2)
    _ = try observer.next(.ok)
    for serial in 1...3 { try poster.send(Post(), serial: Serial(serial), name: "load.unit") }
    try poster.settle()
    try bus.crash()
    #expect(try Self.counts(poster).lost == before.lost + 3)
    #expect(try observer.next().decode(Lost.self).count == 3)
  }

  /// What all connections together have posted and lost.
  private static func counts(_ client: RawClient) throws -> (posted: Int, lost: Int) {
    var counts = (posted: 0, lost: 0)
    for case .connection(let entry) in try client.list(List(.connections)) {
      counts.posted += Int(entry.posted)
      counts.lost += Int(entry.lost)
    }
    return counts
  }

  @Test("whoever has said nothing yet is still to say hello")
  func hello() throws {
    let silent = try RawClient(path: bus.path)
    let begun = try RawClient(path: bus.path)
    let hello = ByteBuffer(capacity: 64)
    Hello().append(to: hello)
    try begun.send(Array([UInt8](hello.bytes).prefix(3)))
    // Both have been accepted, and read from, when another one is served.
    try RawClient.greeted(bus).settle()
    try bus.restart()
    try begun.send(Array([UInt8](hello.bytes).dropFirst(3)))
    _ = try begun.readHello()
    _ = try begun.next(.welcome)
    try silent.greet()
    try silent.settle()
  }
}

extension RawClient {
  static func welcomed(_ bus: RestartedBus) throws -> (client: RawClient, welcome: Welcome) {
    let client = try RawClient(path: bus.path)
    return (client, try client.greet())
  }

  static func greeted(_ bus: RestartedBus) throws -> RawClient { try welcomed(bus).client }
}
