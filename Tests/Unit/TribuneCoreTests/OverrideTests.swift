// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Overrides, dry runs and required delegates", .timeLimit(.minutes(15)))
struct OverrideTests {
  private let bus = BusUnderTest()

  @Test(
    "An override is allowed despite vetoes, waits for all delegates, and lists all outcomes",
    arguments: QueryMode.leave)
  func override(_ mode: QueryMode) {
    let (asker, one, other) = (bus.connect(), bus.connectDelegate("shouldX"), bus.connect())
    bus.attach(["shouldX"], by: one, serial: 2, label: "second")
    bus.attach(["shouldX"], by: other, serial: 1)
    bus.attach(["shouldX"], by: other, serial: 2, label: "silent")
    bus.hold("**", by: other, serial: 3)
    _ = bus.take()
    var reasons: [String] = []
    bus.onEffect = {
      if case .verdict(_, _, let decision, _) = $0 { reasons.append(decision.overrideReason) }
    }
    bus.ask(
      "shouldX", by: asker, serial: 5, mode: mode, fallback: .vetoed, flags: .overrides, because: "disk full")
    bus.answer(.veto, "no", delegate: 1, from: one)
    bus.answer(.approve, delegate: 2, from: one)
    bus.answer(.failed, "broken", delegate: 3, from: other)
    #expect(!bus.take().contains { $0.contains("verdict") })
    bus.advance(milliseconds: 5000)
    let outcomes = "d5 held (busy), d1 vetoed (no), d2 approved, d3 failed (broken), d4 timedOut"
    bus.expect(
      "A verdict 5 q1 allowed overridden: \(outcomes)", "B concluded 1 q1 d1 allowed",
      "B concluded 2 q1 d2 allowed", "C concluded 1 q1 d3 allowed", "C concluded 2 q1 d4 allowed")
    #expect(reasons == ["disk full"])
    #expect(bus.verdictCounts == [1, 0])
    #expect(bus.queryCount == 0)
  }

  @Test("An override waits no longer than its deadline")
  func overrideDeadline() {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    bus.attach(["shouldX"], by: delegate, serial: 2, label: "second")
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5, mode: .order, deadline: 100, flags: .overrides, because: "why")
    bus.advance(milliseconds: 100)
    #expect(
      bus.take().contains(
        "A verdict 5 q1 allowed overridden: d1 timedOut, d2 timedOut (it was not asked in time)"))
  }

  @Test(
    "An override needs a reason of at most 4,096 bytes, and is no value query",
    arguments: [
      (.parallel, "", .invalidValue), (.all, "", .invalidValue), (.all, " \n\u{A0}", .invalidValue),
      (.parallel, String(repeating: "a", count: 4096), nil),
      (.parallel, String(repeating: "a", count: 4097), .invalidValue), (.first, "why", .invalidValue),
      (.collect, "why", .invalidValue), (.all, "No", .invalidValue), (.all, "0", .invalidValue),
      (.all, "no space left", nil),
    ] as [(QueryMode, String, ErrorCode?)])
  func reason(_ mode: QueryMode, _ reason: String, _ code: ErrorCode?) {
    bus.ask(mode.name, by: bus.connect(), serial: 5, mode: mode, flags: .overrides, because: reason)
    #expect(bus.take() == [code.map { "A refused 5 \($0)" } ?? "A verdict 5 q1 allowed?"])
    #expect(bus.isEmpty)
  }

  @Test("A reason alone does not override")
  func reasonAlone() {
    let (asker, holder) = (bus.connect(), bus.connect())
    bus.hold("**", by: holder, serial: 1)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5, flags: .overrides, because: "why")
    #expect(bus.take() == ["A verdict 5 q1 allowed overridden: d1 held (busy)"])
    bus.ask("shouldX", by: asker, serial: 5, because: "why")
    #expect(bus.take().map { $0.hasSuffix("vetoed: d1 held (busy)") } == [true])
  }

  @Test("Unknown flags are refused", arguments: [0x20, 0x10, 0x80, 0xFF] as [UInt8])
  func unknownFlags(_ flags: UInt8) {
    bus.ask("shouldX", by: bus.connect(), serial: 5, flags: QueryFlags(rawValue: flags), because: "why")
    bus.expect("A refused 5 invalidValue")
  }

  @Test("A dry run is asked like a query and marked as one, but not counted", arguments: QueryMode.allCases)
  func dryRun(_ mode: QueryMode) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x", "shouldX"))
    bus.ask(mode.name, by: asker, serial: 5, mode: mode, flags: .isDryRun)
    let questions = bus.takeQuestions().map(\.question)
    #expect(questions.map(\.isDryRun) == [true] && questions.map(\.wantsValue) == [mode.isForValues])
    _ = bus.take()
    bus.answer(.veto, "no", delegate: 1, from: delegate)
    let verdict = mode.isForValues ? "vetoed? dry" : "vetoed dry"
    bus.expect("A verdict 5 q1 \(verdict): d1 vetoed (no)", "B concluded 1 q1 d1 vetoed")
    #expect(bus.verdictCounts == [0, 0])
    bus.ask(mode.name, by: asker, serial: 6, mode: mode)
    #expect(bus.takeQuestions().map(\.question.isDryRun) == [false])
  }

  @Test(
    "A query is vetoed if no delegate has the label or the unit that is required",
    arguments: [
      // A pattern, its requirements, the delegates' labels (unit `test.service`), the missing ones.
      ("shouldX", [.label("guard")], [], ["label:guard"]), ("shouldX", [.label("guard")], ["guard"], []),
      ("shouldX", [.label("guard")], ["Guard", "guards"], ["label:guard"]),
      ("shouldX", [.label("\u{FC}")], ["u\u{308}"], ["label:\u{FC}"]),
      ("shouldX", [.unit("test.service")], [], ["unit:test.service"]),
      ("shouldX", [.unit("test.service")], ["any"], []),
      ("shouldX", [.label("test.service")], ["any"], ["label:test.service"]),
      ("shouldX", [.unit("guard.service")], ["guard.service"], ["unit:guard.service"]),
      ("**", [.label("one"), .label("guard"), .label("two")], ["guard"], ["label:one", "label:two"]),
      ("shouldY", [.label("guard")], [], []),
    ] as [(String, [RequiredDelegate], [String], [String])])
  func required(
    pattern: String, names: [RequiredDelegate], labels: [String], missing: [String]
  ) throws {
    for mode in [QueryMode.parallel, .order] {
      let bus = BusUnderTest()
      bus.bus.policy.queryRules = [.init(pattern: try Pattern(pattern), required: names)]
      let (asker, delegate) = (bus.connect(), bus.connect())
      for (index, label) in labels.enumerated() {
        bus.attach(["shouldX"], to: "o", by: delegate, serial: Serial(index + 1), label: label)
      }
      _ = bus.take()
      let explained = try bus.explain("shouldX", object: "o").compactMap { entry in
        if case .missing(let absent) = entry { absent.name } else { nil }
      }
      #expect(explained == missing)
      bus.ask("shouldX", object: "o", by: asker, serial: 5, mode: mode)
      guard !missing.isEmpty else {
        #expect(bus.take().first != "A verdict 5 q1 vetoed")
        #expect(bus.lastVerdict == nil || labels.isEmpty)
        continue
      }
      let outcomes = missing.map { _ in "d0 gone (required, and not attached)" }.joined(separator: ", ")
      bus.expect("A verdict 5 q1 vetoed: \(outcomes)")
      #expect(bus.lastVerdict?.outcomes.map(\.delegate.label) == missing)
    }
  }

  @Test("A required unit is the system's; a user cannot give a process that name")
  func requiredUnitOfUser() throws {
    bus.bus.policy.queryRules = [.init(pattern: .any, required: [.unit("backup.service")])]
    let asker = bus.connect()
    for (serial, units) in zip(
      Serial(5)...,
      [
        PeerUnits(system: "user@1000.service", user: "backup.service"), PeerUnits(user: "backup.service"),
        PeerUnits(system: "backup.service"),
      ])
    {
      let delegate = bus.connect(units: units)
      bus.attach(["shouldX"], by: delegate, serial: 1)
      _ = bus.take()
      bus.ask("shouldX", by: asker, serial: serial)
      let isVetoed = bus.take().contains { $0.contains("vetoed: d0 gone (required, and not attached)") }
      #expect(isVetoed == (units.system != "backup.service"))
      bus.disconnect(delegate)
    }
  }

  @Test(
    "A query without an answer is vetoed if the configuration says so",
    arguments: [("shouldX", true), ("**", true), ("shouldY", false)])
  func defaultVeto(pattern: String, isVetoed: Bool) throws {
    bus.bus.policy.queryRules = [.init(pattern: try Pattern(pattern), vetoesByDefault: true)]
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.ask("shouldX", by: asker, serial: 5)
    bus.expect("A verdict 5 q1 \(isVetoed ? "vetoed" : "allowed")?")
    let explained = try bus.explain("shouldX", object: "").compactMap { entry in
      if case .missing(let absent) = entry { absent.name } else { nil }
    }
    #expect(explained == (isVetoed ? ["*"] : []))
    bus.attach(["shouldX"], by: delegate, serial: 1)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 6)
    bus.answer(.approve, query: 2, delegate: 1, from: delegate)
    #expect(bus.take().contains("A verdict 6 q2 allowed: d1 approved"))
  }

  @Test(
    "An override passes holds and missing delegates; if the default is a veto, some delegate must answer"
  )
  func overriddenDefault() throws {
    bus.bus.policy.queryRules = [
      .init(pattern: try Pattern("shouldX"), vetoesByDefault: true),
      .init(pattern: .any, required: [.label("guard")]),
    ]
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.hold("**", by: asker, serial: 1)
    func override(_ name: String, _ serial: Serial) {
      bus.ask(name, by: asker, serial: serial, flags: .overrides, because: "urgent")
    }
    _ = bus.take()
    override("shouldX", 5)
    bus.expect("A verdict 5 q1 vetoed?: d1 held (busy), d0 gone (required, and not attached)")
    override("shouldY", 6)
    #expect(bus.take().contains { $0.hasPrefix("A verdict 6 q2 allowed overridden: d1 held") })
    bus.attach(["shouldX"], by: delegate, serial: 1)
    _ = bus.take()
    override("shouldX", 7)
    bus.answer(.veto, query: 3, delegate: 2, from: delegate)
    #expect(bus.take().contains { $0.hasPrefix("A verdict 7 q3 allowed overridden: d1 held") })
  }

  @Test("A required delegate that fails vetoes, whatever its failure policy; its abstention does not")
  func requiredFailure() throws {
    bus.bus.policy.queryRules = try ["x", "shouldX"].map {
      .init(pattern: try Pattern($0), required: [.label("guard")])
    }
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(
      ["x", "shouldX", "shouldY"], by: delegate, serial: 1, policy: .abstain, timeout: 100, label: "guard")
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5)
    bus.answer(.abstain, query: 1, delegate: 1, from: delegate)
    #expect(bus.take().contains("A verdict 5 q1 allowed?: d1 abstained"))
    bus.ask("shouldX", by: asker, serial: 6)
    bus.advance(milliseconds: 100)
    #expect(bus.take().contains("A verdict 6 q2 vetoed: d1 timedOut"))
    bus.ask("shouldY", by: asker, serial: 7)
    bus.ask("shouldX", by: asker, serial: 8)
    bus.ask("x", by: asker, serial: 9, mode: .first)
    _ = bus.take()
    bus.disconnect(delegate)
    bus.expect(
      "A verdict 7 q3 allowed?: d1 gone", "A verdict 8 q4 vetoed: d1 gone", "A verdict 9 q5 vetoed?: d1 gone")
  }

  @Test("A delegate that is required, but attached for other names or objects, is missing")
  func requiredElsewhere() throws {
    bus.bus.policy.queryRules = [.init(pattern: try Pattern("shouldX"), required: [.label("guard")])]
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["shouldY"], to: "o", by: delegate, serial: 1, label: "guard")
    bus.attach(["shouldX"], to: "p", by: delegate, serial: 2, label: "guard")
    _ = bus.take()
    bus.ask("shouldX", object: "o", by: asker, serial: 5)
    bus.expect("A verdict 5 q1 vetoed: d0 gone (required, and not attached)")
    bus.ask("shouldX", object: "p", by: asker, serial: 6)
    bus.expect("B question 2 q2 d2 5000ms shouldXp")
  }

  @Test("In mode all, the others are asked even if one is missing; value queries require no delegates")
  func requiredAll() throws {
    bus.bus.policy.queryRules = [
      .init(pattern: try Pattern("shouldX"), required: [.label("guard")]),
      .init(pattern: try Pattern("*"), required: [.label("guard")]),
    ]
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x", "shouldX"))
    bus.hold("**", by: delegate, serial: 2)
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(
      bus.take().contains(
        "A verdict 5 q1 vetoed: d2 held (busy), d0 gone (required, and not attached), d1 approved"))
    bus.ask("x", by: asker, serial: 6, mode: .first)
    bus.answer(.value, "7", query: 2, delegate: 1, from: delegate)
    #expect(bus.take().contains("A verdict 6 q2 allowed: d1 answered (7)"))
  }
}
