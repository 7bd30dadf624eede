// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// A daemon that takes over by another configuration than that under which everything had been registered.
@Suite("A restart with another configuration", .timeLimit(.minutes(2)))
struct ReconfiguredRestartTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  enum Way: CaseIterable { case planned, crash }

  private func restart(_ way: Way, with configuration: String) throws {
    switch way {
    case .planned: try bus.end(SIGTERM)
    case .crash: try bus.die()
    }
    try bus.folder.write(configuration, to: "etc/tribuned.conf")
    try bus.start()
  }

  @Test("what had been accepted is kept past limits that are lower now", arguments: Way.allCases)
  func limits(_ way: Way) throws {
    let client = try RawClient.greeted(bus)
    for serial in Serial(1)...3 { try client.observe("load.n\(serial)", serial: serial) }
    try restart(way, with: "[Bus]\nObservationsMax=1\n")
    let poster = try RawClient.greeted(bus)
    for number in 1...3 {
      try poster.send(Post(), serial: 1, name: "load.n\(number)")
      #expect(try client.next().name == "load.n\(number)")
    }
    try client.send(Observe(), serial: 4, name: "load.n4")
    #expect(try client.nextError() == .limitExceeded)
  }

  @Test("what had been accepted is kept though its object has another protocol now", arguments: Way.allCases)
  func protocols(_ way: Way) throws {
    let delegate = try RawClient.greeted(bus)
    let attach = Attach(patterns: ["p.didZ"])
    try delegate.attach(attach, object: "view/1", serial: 1)
    try bus.folder.write("protocol P { optional did p.didX () }\n", to: "etc/protocols.d/p.protocol")
    try restart(way, with: "[Object \"view/*\"]\nProtocol=P\n")
    // It is there to be taken back.
    try delegate.send(Cancel(target: 1), serial: 2)
    _ = try delegate.next(.ok)
    // Whoever comes now is held against it.
    let other = try RawClient.greeted(bus)
    try other.send(attach, serial: 1, object: "view/1")
    let code = try other.nextError()
    #expect(code == .notConforming || code == .unknownName)
  }

  // MARK: What is under way

  /// A delegate, and an asker whose query waits for it.
  private func ask(_ ask: Ask = Ask(), _ attach: Attach = Attach(patterns: ["a.shouldB"])) throws -> (
    delegate: RawClient, asker: RawClient, question: Question
  ) {
    let (delegate, asker) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try delegate.attach(attach, serial: 1)
    try asker.send(ask, serial: 1, name: "a.shouldB")
    return (delegate, asker, try delegate.nextQuestion().question)
  }

  @Test("a query that may not be asked any more goes on", arguments: Way.allCases)
  func overriders(_ way: Way) throws {
    let override = Ask(flags: .overrides, overrideReason: "it burns")
    let (delegate, asker, question) = try ask(override)
    try restart(way, with: "[Delegation]\nOverrideUsers=none\n")
    try delegate.answer(question, .veto)
    #expect(try asker.nextVerdict().verdict == .allowed)
    try asker.send(override, serial: 2, name: "a.shouldB")
    #expect(try asker.nextError() == .notPermitted)
  }

  @Test("a delegate that is required now is not required by what was asked before", arguments: Way.allCases)
  func requirement(_ way: Way) throws {
    let (delegate, asker, question) = try ask()
    try restart(way, with: "[Query \"a.*\"]\nRequireDelegate=guard.service\n")
    try delegate.answer(question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
    try asker.send(Ask(), serial: 2, name: "a.shouldB")
    #expect(try asker.nextVerdict().outcomes.map(\.delegate.label) == ["guard.service"])
  }

  @Test("deadlines and timeouts stay as they were when they were given", arguments: Way.allCases)
  func times(_ way: Way) throws {
    let (delegate, asker, question) = try ask()
    // What comes later has the bus's time go on when it is replayed.
    try delegate.observe("load.*", serial: 2)
    try restart(way, with: "[Delegation]\nDelegateTimeoutSec=1ms\nDeadlineSec=1ms\n")
    try delegate.answer(question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
    try asker.send(Ask(deadline: 60_000), serial: 2, name: "a.shouldB")
    while true {
      let frame = try delegate.next()
      guard frame.kind == .question else { continue }
      #expect(try frame.decode(Question.self).timeout > 1)
      break
    }
  }

  // MARK: Protocols

  @Test("a value counts by the protocol that its object had when it was asked for", arguments: Way.allCases)
  func values(_ way: Way) throws {
    func define(_ type: String) throws {
      try bus.folder.write(
        "protocol P { optional value p.size () -> (size: \(type)) }\n", to: "etc/protocols.d/p.protocol")
    }
    let objects = "[Object \"view/*\"]\nProtocol=P\n"
    try define("int")
    try restart(way, with: objects)
    let (one, other, asker) = (
      try RawClient.greeted(bus), try RawClient.greeted(bus), try RawClient.greeted(bus)
    )
    let attach = Attach(timeout: 60_000, patterns: ["p.size"], protocols: ["P"])
    for delegate in [one, other] { try delegate.attach(attach, object: "view/1", serial: 1) }
    try asker.send(Ask(deadline: 60_000, mode: .collect), serial: 1, name: "p.size", object: "view/1")
    let questions = [try one.nextQuestion().question, try other.nextQuestion().question]
    try one.answer(questions[0], .value, #"{"size":1}"#)
    try one.settle()
    try define("string")
    try restart(way, with: objects)
    try other.answer(questions[1], .value, #"{"size":2}"#)
    #expect(try asker.nextVerdict().outcomes.map(\.outcome) == [.answered, .answered])
  }

  @Test("what connections have declared and defined is as after a reload", arguments: Way.allCases)
  func declarations(_ way: Way) throws {
    func define(_ text: String) throws {
      try bus.folder.write(text + "\n", to: "etc/protocols.d/p.protocol")
    }
    try define("protocol P { optional did p.didX () }")
    try restart(way, with: "")
    let client = try RawClient.greeted(bus)
    try client.declare("o", as: "P", serial: 1)
    try client.declare("own", as: "Q", defining: "protocol Q { optional did p.didX () }", serial: 2)
    for _ in 1...2 { _ = try client.next(.ok) }
    try define("protocol Q { optional did p.didY () }")
    // The second time, from a log that was compacted under the new configuration.
    for _ in 1...2 {
      try restart(way, with: "")
      for object in ["o", "own"] {
        let methods = try client.list(List(.members), object: object).compactMap {
          if case .member(let entry) = $0 { entry.name } else { nil }
        }
        #expect(methods == ["p.didX"], "\(object)")
      }
      #expect(try client.list(List(.protocols)).count == 1)
    }
  }
}
