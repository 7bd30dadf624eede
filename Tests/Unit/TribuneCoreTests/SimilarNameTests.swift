// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("Misspelt names", .timeLimit(.minutes(15)))
struct SimilarNameTests {
  private let bus = BusUnderTest()

  private func similarName(
    to name: String, object: String = "", mode: QueryMode? = nil, user: UInt32 = 0
  ) -> String {
    let asker = bus.connect(uid: user)
    _ = bus.take()
    let mode = mode ?? (NameSyntax.canMatchQuestion(name) ? .parallel : .first)
    bus.lastVerdict = nil
    bus.ask(name, object: object, by: asker, serial: 1, mode: mode)
    _ = bus.take()
    return bus.lastVerdict?.similarName ?? "no verdict"
  }

  @Test(
    "The verdict of a query without delegates has a similar name of a delegate or a hold",
    arguments: [
      ("data.shouldprune", "", "data.shouldPrune"), ("data.shoudPrune", "", "data.shouldPrune"),
      ("data.prune", "o", "data.shouldPrune"), ("data.shouldPurne", "", "data.shouldPrune"),
      ("Data.shouldPrune", "o", "data.shouldPrune"), ("data.shouldPrune", "p", ""),
      ("data.shouldPlant", "", ""), ("tapes.shouldWrit", "", "tapes.shouldWrite"),
      ("tapes.shouldWrite", "", ""),
      ("tapes.shouldWrite", "p", ""), ("Stores.main.shouldSync", "", "stores.main.shouldSync"),
    ] as [(String, String, String)])
  func registered(_ name: String, object: String, similar: String) {
    let other = bus.connect()
    bus.attach(["data.shouldPrune"], to: "o", by: other, serial: 1)
    bus.hold("tapes.shouldWrite", object: "o", by: other, serial: 2)
    bus.hold("stores.**", by: other, serial: 3)
    for mode in NameSyntax.canMatchQuestion(name) ? QueryMode.leave : [.first, .collect] {
      #expect(similarName(to: name, object: object, mode: mode) == similar)
    }
  }

  @Test(
    "Otherwise it has a configured or well-known one",
    arguments: [
      ("jobs.shouldstart", "jobs.shouldStart"), ("jobs.shouldStart", ""),
      ("host.shouldreboot", "host.shouldReboot"),
      ("host.reboot", "host.shouldReboot"), ("host.shouldReboot", ""), ("unit.shouldRestart", ""),
      ("nothing.shouldBeLike", ""),
    ] as [(String, String)])
  func known(_ name: String, similar: String) throws {
    bus.bus.policy.queryRules = [.init(pattern: try Pattern("jobs.*"), vetoesByDefault: true)]
    #expect(similarName(to: name) == (name == "jobs.shouldstart" ? "" : similar))
    bus.bus.policy.queryRules = [.init(pattern: try Pattern("jobs.shouldStart"), vetoesByDefault: true)]
    #expect(similarName(to: name) == similar)
    bus.bus.policy.queryRules.insert(.init(pattern: .any, vetoesByDefault: true), at: 0)
    #expect(similarName(to: name) == similar)
  }

  @Test(
    "A question for permission under a name that no hold can have is refused, with the name that was meant",
    arguments: [
      ("host.reboot", "host.shouldReboot"), ("host.ShouldReboot", "host.shouldReboot"),
      ("host.willReboot", "host.shouldReboot"), ("host.didReboot", "host.shouldReboot"),
      ("host.shouldRebot", "host.shouldReboot"), ("host.restart", "host.shouldReboot"),
      ("loads.mayEnd", "loads.shouldEnd"), ("loads.didFailToEnd", "loads.shouldEnd"),
      ("shop.deploy", "shop.shouldDeploy"), ("loads.didend", "loads.shouldDidend"),
      ("host.shouldReboot", nil), ("shop.shouldDeploy", nil),
    ] as [(String, String?)])
  func neverAsked(_ name: String, meaning question: String?) {
    let asker = bus.connect()
    bus.attach(["**"], by: asker, serial: 1)
    var message: String?
    bus.onEffect = { if case .refusal(_, _, let error) = $0 { message = error.message } }
    for mode in QueryMode.allCases {
      // The second one comes from the cache.
      for serial in 5...6 as ClosedRange<Serial> {
        (message, _) = (nil, bus.take())
        bus.ask(name, by: asker, serial: serial, mode: mode)
        let expected =
          mode.isForValues
          ? question == nil ? "\(name) is a question for permission, not for a value" : nil
          : question.map { "\"\(name)\" is never asked: did you mean \($0)?" }
        #expect(message == expected)
        #expect(bus.take().contains("A refused \(serial) invalidName") == (expected != nil))
        bus.cancel(serial, by: asker)
      }
    }
  }

  @Test(
    "A question for permission and a value have different names: under the other's, neither goes past a hold",
    arguments: [
      ("shop.deploy", QueryMode.leave, "\"shop.deploy\" is never asked: did you mean shop.shouldDeploy?"),
      ("x", QueryMode.leave, "\"x\" is never asked: did you mean shouldX?"),
      (
        "shop.should", QueryMode.leave, "\"shop.should\" is never asked: a question ends in should and a verb"
      ),
      (
        "shop.shouldDeploy", [.first, .collect],
        "shop.shouldDeploy is a question for permission, not for a value"
      ),
      (
        "host.shouldReboot", [.first, .collect],
        "host.shouldReboot is a question for permission, not for a value"
      ),
    ] as [(String, [QueryMode], String)])
  func otherKind(_ name: String, _ modes: [QueryMode], _ text: String) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("**"))
    bus.hold("**", by: delegate, serial: 2)
    _ = bus.take()
    var messages: [String] = []
    bus.onEffect = { if case .refusal(_, _, let error) = $0 { messages.append(error.message) } }
    for mode in modes {
      bus.ask(name, by: asker, serial: 5, mode: mode)
      bus.expect("A refused 5 invalidName")
    }
    #expect(messages == modes.map { _ in text })
    #expect(bus.queryCount == 0 && bus.verdictCounts == [0, 0])
  }

  @Test("The name of a misspelt delegate is found for the well-known name")
  func misspeltDelegate() {
    bus.attach(["host.shouldrebot"], by: bus.connect(), serial: 1)
    #expect(similarName(to: "host.shouldReboot") == "host.shouldrebot")
  }

  @Test("An asker whose question reached a delegate gets no similar name, even without a decision")
  func asked() {
    let (asker, other) = (bus.connect(), bus.connectDelegate("data.shouldPrune", "data.shouldPrunes"))
    bus.ask("data.shouldPrune", by: asker, serial: 1)
    bus.answer(.abstain, delegate: 1, from: other)
    #expect(bus.lastVerdict?.isUnanswered == true && bus.lastVerdict?.similarName == "")
  }

  @Test(
    "Delegates and holds that meet the question only by their patterns do not hide a similar name",
    arguments: [QueryMode.parallel, .all, .order], [AnswerKind.approve, .abstain, .veto])
  func metByPatterns(mode: QueryMode, answer: AnswerKind) {
    let auditor = bus.connect()
    bus.attach(["data.*"], by: auditor, serial: 1)
    bus.attach(["data.shouldPrune"], to: "o", by: bus.connect(), serial: 1)
    var query: UInt64 = 0
    func similarName(to name: String, object: String = "") -> String? {
      query += 1
      bus.ask(name, object: object, by: bus.connect(), serial: 1, mode: mode)
      bus.answer(answer, query: query, delegate: 1, from: auditor)
      return bus.lastVerdict?.similarName
    }
    for name in ["data.shouldPrun", "data.shouldPurne"] {
      #expect(similarName(to: name) == "data.shouldPrune")
      #expect(similarName(to: name, object: "p") == "data.shouldPrune")
    }
    #expect(similarName(to: "data.shouldPrune", object: "p") == "")
    bus.hold("**", by: bus.connect(), serial: 1)
    #expect(similarName(to: "data.shouldPrun") == "data.shouldPrune")
    bus.hold("data.shouldPurne", by: bus.connect(), serial: 1)
    #expect(similarName(to: "data.shouldPurne") == "")
  }

  @Test("A value by a pattern's delegate has no similar name, and a query without a value has one")
  func valueByPattern() {
    let source = bus.connect()
    bus.attach(["data.*"], by: source, serial: 1)
    bus.attach(["data.numberOfRows"], to: "o", by: bus.connect(), serial: 1)
    for (query, answer, similar) in [(1, .value, ""), (2, .abstain, "data.numberOfRows")]
      as [(UInt64, AnswerKind, String)]
    {
      bus.ask("data.numberOfRow", by: bus.connect(), serial: 1, mode: .first)
      bus.answer(answer, answer == .value ? "1" : "", query: query, delegate: 1, from: source)
      #expect(bus.lastVerdict?.similarName == similar)
    }
  }

  @Test("A similar name is well known, or one that the asker may list or ask")
  func permitted() {
    let other = bus.connect(uid: 7)
    bus.attach(["data.shouldPrune", "*.shouldRotate"], by: other, serial: 1)
    bus.hold("tapes.shouldWrite", object: "o", by: other, serial: 2)
    func similar(_ name: String, _ lines: String...) -> String {
      let lines = ["allow ask \(name) user:ann"] + lines
      let rules = AccessRules.policy(Policy(text: lines), exempt: [7])
      bus.happen { $0.apply(rules, at: bus.now) }
      return similarName(to: name, mode: .first, user: 1001)
    }
    for (name, meant) in [
      ("data.shouldprune", "data.shouldPrune"), ("tapes.shouldwrite", "tapes.shouldWrite"),
      ("logs.shouldrotate", "logs.shouldRotate"),
    ] {
      #expect(similar(name) == "")
      #expect(similar(name, "allow post,observe,delegate,hold ** user:ann") == "")
      #expect(similar(name, "allow ask \(meant) user:ann") == meant)
      #expect(similar(name, "allow list \(meant) user:ann") == meant)
      #expect(similar(name, "allow ask,list ** user:ann", "deny ask,list \(meant) user:ann") == "")
    }
    #expect(similar("host.shouldreboot") == "host.shouldReboot")
  }

  @Test("The bus compares with a bounded number of registrations")
  func bounded() {
    let slots = (0..<20).map { _ in bus.connect() }
    for (place, slot) in slots.enumerated() {
      for serial in 1...100 as ClosedRange<Serial> {
        bus.hold("busy.number\(place).shouldStay", object: "\(serial)", by: slot, serial: serial)
      }
    }
    bus.hold("data.shouldPrune", by: bus.connect(), serial: 1)
    #expect(similarName(to: "data.shouldPrun") == "")
    for slot in slots.prefix(15) { bus.disconnect(slot) }
    #expect(similarName(to: "data.shouldPrun") == "data.shouldPrune")
  }
}
