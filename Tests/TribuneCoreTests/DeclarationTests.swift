// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

/// What an image viewer would declare.
let scrollView = """
  protocol Scroll {
    optional should scroll.shouldScrollToTop ()
    optional will   scroll.willScroll ()
    optional did    scroll.didScroll ()
  }
  protocol Tap : Scroll {
    required did    scroll.didTap ()
    optional value  scroll.zoomTarget () -> (view: ?string)
  }
  """

@Suite("Declarations", .timeLimit(.minutes(15)))
struct DeclarationTests {
  let bus = BusUnderTest()

  @Test("define protocols, declare objects, or both, until they are taken back")
  func lifetime() {
    let owner = bus.connect()
    bus.declare(defining: scrollView, by: owner, serial: 1)
    bus.declare("view/1", as: "Tap", by: owner, serial: 2)
    bus.declare("view/2", as: "Own", defining: "protocol Own : Scroll {}", by: owner, serial: 3)
    #expect(bus.take() == ["A ok 1 as 1", "A ok 2 as 2", "A ok 3 as 3"])
    #expect(bus.bus.declarationCount == 3 && bus.bus.protocolCount == 3)
    // Which are no observations.
    #expect(bus.counts(at: owner).observations == 0 && bus.observationCount == 0)
    #expect(
      bus.bus.objectEntries(of: 0).map { "\($0.object) \($0.protocolName) \($0.connection)" }
        == ["view/1 Tap :1", "view/2 Own :1"])
    bus.cancel(3, by: owner)
    bus.cancel(3, by: owner)
    #expect(bus.take() == ["A ok 902", "A refused 902 notFound"])
    #expect(bus.bus.protocolEntries(of: 0).map(\.name) == ["Scroll", "Tap"])
    bus.disconnect(owner)
    #expect(bus.isEmpty)
    #expect(bus.bus.objectEntries(of: 0).isEmpty)
  }

  struct Refused: Sendable, CustomTestStringConvertible {
    let object: String
    let name: String
    let source: String
    let code: ErrorCode

    init(_ object: String, _ name: String, _ code: ErrorCode, defining source: String = "") {
      self.object = object
      self.name = name
      self.source = source
      self.code = code
    }

    var testDescription: String { "\(object) \(name) \(source.prefix(40)): \(code)" }
  }

  static let refused = [
    Refused("o", "", .invalidValue),
    Refused("o", "", .invalidValue, defining: "protocol New {}"),
    Refused("", "Scroll", .invalidValue),
    Refused("", "New", .invalidValue, defining: "protocol New {}"),
    Refused("", "", .invalidValue),
    Refused("o", "None", .unknownProtocol),
    Refused("o", "None", .unknownProtocol, defining: "protocol New {}"),
    Refused("o\n", "Scroll", .invalidObject),
    Refused("o", String(repeating: "P", count: 256), .limitExceeded),
    Refused("", "", .limitExceeded, defining: String(repeating: "#\n", count: 32_769)),
    Refused("", "", .invalidProtocol, defining: "protocol New {"),
    Refused("", "", .invalidProtocol, defining: "protocol New : None {}"),
    Refused("", "", .conflict, defining: "protocol Scroll {}"),
    Refused("", "", .conflict, defining: "protocol New {}\nprotocol Scroll {}"),
    Refused("", "", .invalidProtocol, defining: "protocol New : None {}\nprotocol Scroll {}"),
    // A method twice, with other types.
    Refused(
      "", "", .invalidProtocol,
      defining: "protocol New { optional did a.didB (x: int)\n optional did a.didB (x: bool) }"),
    Refused("", "", .invalidProtocol, defining: "protocol New : Tap { required did scroll.didTap (x: int) }"),
  ]

  @Test("are refused with nothing changed", arguments: refused)
  func refusal(_ example: Refused) {
    let owner = bus.connect()
    let other = bus.connect()
    bus.declare(defining: scrollView, by: owner, serial: 1)
    _ = bus.take()
    bus.declare(example.object, as: example.name, defining: example.source, by: other, serial: 4)
    #expect(bus.take() == ["B refused 4 \(example.code)"])
    #expect(bus.bus.declarationCount == 1 && bus.bus.protocolCount == 2)
  }

  @Test("say all that is wrong with a definition, with lines and columns")
  func message() {
    var messages: [String] = []
    bus.onEffect = { if case .refusal(_, _, let error) = $0 { messages.append(error.message) } }
    bus.declare(
      defining: "protocol A : X {}\nprotocol B {\n  optional did a.b ()\n}\n", by: bus.connect(), serial: 1)
    let lines = messages.first?.split(separator: "\n") ?? []
    #expect(lines.count == 2)
    #expect(lines.first?.hasPrefix("1:14: ") == true && lines.last?.hasPrefix("3:16: ") == true, "\(lines)")
  }

  @Test("are the same thing twice, and another thing is a conflict, until the first has gone")
  func conflicts() throws {
    let one = bus.connect()
    let two = bus.connect()
    bus.declare("o", as: "Scroll", defining: scrollView, by: one, serial: 1)
    // Another's text, the same but for a comment.
    bus.declare("o", as: "Scroll", defining: "# mine\n" + scrollView, by: two, serial: 1)
    bus.declare("o", as: "Tap", by: two, serial: 2)
    bus.declare("o", as: "Scroll", by: two, serial: 1)
    #expect(
      bus.take() == ["A ok 1 as 1", "B ok 1 as 1", "B refused 2 conflict", "B refused 1 duplicateSerial"])
    bus.disconnect(one)
    #expect(bus.bus.protocolEntries(of: 0).map(\.connection.rawValue) == [2, 2])
    #expect(try bus.post("scroll.didScroll", object: "o") == nil)
    bus.cancel(1, by: two)
    bus.declare("o", as: "Tap", defining: scrollView, by: two, serial: 2)
    #expect(bus.take() == ["B ok 902", "B ok 2 as 2"])
    bus.disconnect(two)
    #expect(bus.isEmpty)
  }

  @Test("count with the observations, and those that define have a limit of their own")
  func limits() {
    var limits = BusLimits()
    limits.observationsMax = 3
    limits.definitionsMax = 2
    limits.protocolsMax = 3
    let bus = BusUnderTest(limits)
    let owner = bus.connect()
    bus.declare(defining: "protocol A {}\nprotocol B {}", by: owner, serial: 1)
    bus.declare(defining: "protocol C {}\nprotocol D {}", by: owner, serial: 2)
    bus.declare(defining: "protocol C {}", by: owner, serial: 2)
    bus.declare(defining: "protocol A {}", by: owner, serial: 3)
    bus.declare("o", as: "A", by: owner, serial: 3)
    bus.observe(by: owner, serial: 4)
    bus.declare("o", as: "A", by: owner, serial: 4)
    #expect(
      bus.take() == [
        "A ok 1 as 1", "A refused 2 limitExceeded", "A ok 2 as 2", "A refused 3 limitExceeded", "A ok 3 as 3",
        "A refused 4 limitExceeded", "A refused 4 limitExceeded",
      ])
    for serial in Serial(1)...3 { bus.cancel(serial, by: owner) }
    #expect(bus.isEmpty)
  }

  @Test("leave nothing, however often they come and go")
  func churn() {
    let owner = bus.connect()
    for round in 0..<1000 {
      bus.declare(
        "view/\(round)", as: "Own\(round)", defining: "protocol Own\(round) {}", by: owner, serial: 1)
      bus.declare("view/x", as: "Own\(round)", by: owner, serial: 2)
      #expect(bus.take().allSatisfy { $0.contains(" ok ") })
      #expect(bus.bus.declarationCount == 2)
      if round % 3 == 0 {
        bus.disconnect(owner)
        bus.connect()
      } else {
        bus.cancel(1, by: owner)
        bus.cancel(2, by: owner)
        #expect(bus.take().allSatisfy { $0.contains(" ok ") })
      }
      #expect(bus.isEmpty)
    }
  }

  // MARK: Attaching

  struct Attaching: Sendable, CustomTestStringConvertible {
    let object: String
    let patterns: [String]
    let protocols: [String]
    /// nil for none.
    let code: ErrorCode?

    init(_ object: String, _ patterns: [String], _ protocols: [String], _ code: ErrorCode? = nil) {
      self.object = object
      self.patterns = patterns
      self.protocols = protocols
      self.code = code
    }

    var testDescription: String { "\(object) \(patterns) \(protocols)" }
  }

  static let attachments = [
    Attaching("base", ["scroll.didScroll"], ["Scroll"]),
    Attaching("base", ["scroll.didScroll", "scroll.didTap"], ["Tap"]),
    Attaching("base", ["**"], ["Scroll"]),
    Attaching("base", ["scroll.didScroll"], [], .notConforming),
    Attaching("base", ["scroll.didTap"], ["Scroll"], .notConforming),
    Attaching("base", ["scroll.didScroll"], ["Scroll", "None"], .unknownProtocol),
    Attaching("tap", ["scroll.didTap", "scroll.didScroll"], ["Tap"]),
    Attaching("tap", ["scroll.didTap", "scroll.didScroll"], ["Scroll"], .notConforming),
    Attaching("tap", ["scroll.didScroll"], ["Tap"], .notConforming),
    Attaching("tap", ["scroll.didTap"], ["Scroll", "Tap"]),
    Attaching("free", ["what.ever"], ["None"]),
    Attaching("", ["scroll.didTap"], []),
  ]

  @Test("say what their delegates must be, when they attach", arguments: attachments, [false, true])
  func attaching(_ example: Attaching, _ isSet: Bool) {
    let owner = bus.connect()
    let delegate = bus.connect()
    bus.declare("base", as: "Scroll", defining: scrollView, by: owner, serial: 1)
    bus.declare("tap", as: "Tap", by: owner, serial: 2)
    _ = bus.take()
    bus.attach(
      example.patterns, to: example.object, by: delegate, serial: 5, isSet: isSet,
      conformingTo: example.protocols)
    #expect(bus.take() == [example.code.map { "B refused 5 \($0)" } ?? "B ok 5 as 5 d1"])
    #expect(bus.delegateCount == (example.code == nil ? 1 : 0))
  }

  @Test("leave the delegates alone that the object had before, and check what comes from then on")
  func earlierDelegates() throws {
    let delegate = bus.connect()
    let owner = bus.connect()
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 1, conformingTo: ["Tap"])
    bus.ask("own.shouldGo", object: "o", by: owner, serial: 9)
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    #expect(bus.delegateCount == 1)
    _ = bus.take()
    // The same once more is still the same.
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 2)
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 2, label: "another")
    bus.ask("own.shouldGo", object: "o", by: owner, serial: 9)
    #expect(bus.take() == ["A ok 2 as 1 d1", "A refused 2 notConforming", "B refused 9 unknownName"])
    #expect(bus.bus.objectEntries(of: 0).map(\.delegates) == [1])
    bus.disconnect(owner)
    bus.ask("own.shouldGo", object: "o", by: delegate, serial: 9)
    #expect(bus.takeQuestions().count == 2)
  }

  // MARK: Messages

  struct Message: Sendable, CustomTestStringConvertible {
    let name: String
    /// nil is posted.
    let mode: QueryMode?
    let text: String
    let code: ErrorCode?

    init(_ name: String, _ mode: QueryMode?, _ code: ErrorCode? = nil, text: String = "{}") {
      self.name = "scroll.\(name)"
      self.mode = mode
      self.text = text
      self.code = code
    }

    var testDescription: String {
      "\(mode.map { "\($0)" } ?? "post") \(name) \(text): \(code.map { "\($0)" } ?? "fine")"
    }
  }

  static let posts = [
    Message("didTap", nil), Message("didScroll", nil), Message("willScroll", nil),
    Message("shouldScrollToTop", nil, .unknownName), Message("zoomTarget", nil, .unknownName),
    Message("didOther", nil, .unknownName), Message("didTap", nil, .invalidParameter, text: "bad"),
  ]

  static let queries = [
    Message("didTap", .parallel, .unknownName), Message("willScroll", .first, .unknownName),
    Message("shouldOther", .parallel, .unknownName), Message("other", .collect, .unknownName),
  ]

  static let asks = [QueryMode.parallel, .all, .order].flatMap { mode in
    [
      Message("shouldScrollToTop", mode), Message("zoomTarget", mode, .unknownName),
      Message("shouldScrollToTop", mode, .invalidParameter, text: "bad"),
    ]
  }

  static let valueQueries = [QueryMode.first, .collect].flatMap { mode in
    [
      Message("zoomTarget", mode), Message("shouldScrollToTop", mode, .unknownName),
      Message("zoomTarget", mode, .invalidParameter, text: "bad"),
    ]
  }

  @Test(
    "say what can be sent about their objects, and nothing about others",
    arguments: posts + queries + asks + valueQueries)
  func message(_ message: Message) throws {
    let owner = bus.connect()
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    _ = bus.take()
    for object in ["o", "free", ""] {
      let expected = object == "o" ? message.code : nil
      if let mode = message.mode {
        bus.ask(message.name, object: object, by: owner, serial: 2, mode: mode, text: message.text)
        let line = bus.take().first ?? ""
        #expect(line.hasPrefix(expected.map { "A refused 2 \($0)" } ?? "A verdict 2"), "\(object): \(line)")
      } else {
        #expect(try bus.post(message.name, object: object, text: message.text) == expected)
      }
    }
    #expect(bus.queryCount == 0)
  }

  @Test(
    "make a value that does not fit a failure, which the delegate is told",
    arguments: [QueryMode.first, .collect])
  func values(_ mode: QueryMode) {
    let owner = bus.connect()
    let delegate = bus.connect()
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    for label in ["a", "b"] {
      bus.attach(
        ["**"], to: "o", by: delegate, serial: label == "a" ? 1 : 2, label: label, conformingTo: ["Tap"])
    }
    bus.ask("scroll.zoomTarget", object: "o", by: owner, serial: 2, mode: mode)
    _ = bus.take()
    bus.answer(.value, "bad", delegate: 1, from: delegate)
    #expect(bus.take().last == "B refused 900 invalidParameter")
    bus.answer(.value, "good", delegate: 2, from: delegate)
    #expect(
      bus.lastVerdict?.summary
        == "allowed: d1 failed (the value does not fit: scroll.zoomTarget takes nothing bad), d2 answered (good)"
    )
    #expect(bus.queryCount == 0)
    // What is free-form takes any.
    bus.attach(["**"], to: "free", by: delegate, serial: 3)
    bus.ask("scroll.zoomTarget", object: "free", by: owner, serial: 3, mode: mode)
    bus.answer(.value, "bad", query: 2, delegate: 3, from: delegate)
    #expect(bus.lastVerdict?.summary == "allowed: d3 answered (bad)")
  }

  // MARK: Configuration

  @Test("are explained as they would be met: what cannot be asked has no explanation")
  func explaining() throws {
    bus.declare("o", as: "Tap", defining: scrollView, by: bus.connect(), serial: 1)
    for name in ["scroll.shouldScrollToTop", "scroll.zoomTarget"] {
      #expect(try bus.explain(name, object: "o").count == 1)
    }
    for name in ["scroll.didTap", "scroll.shouldOther"] {
      #expect(throws: WireError.self) { try bus.explain(name, object: "o") }
      #expect(try bus.explain(name, object: "free").isEmpty)
    }
  }

  @Test("of the configuration come first, the most particular of them")
  func patterns() throws {
    let owner = bus.connect()
    let text = ["A", "B", "C", "D"].map {
      "protocol \($0) { optional did \($0.lowercased()).didX ()\noptional should a.shouldB () }"
    }
    bus.configure(text.joined(), ["**": "A", "view/*": "B", "view/1": "C"])
    func protocolName(_ object: String) throws -> String? {
      try bus.explain("a.shouldB", object: object)
        .compactMap { if case .object(let entry) = $0 { entry.protocolName } else { nil } }.first
    }
    #expect(try protocolName("view/1") == "C")
    #expect(try protocolName("view/2") == "B")
    #expect(try protocolName("view/2/x") == "A")
    #expect(try protocolName("") == nil)
    bus.declare("view/2", as: "B", by: owner, serial: 1)
    bus.declare("view/1", as: "D", by: owner, serial: 2)
    #expect(bus.take() == ["A ok 1 as 1", "A refused 2 conflict"])
    #expect(try bus.post("b.didX", object: "view/2") == nil)
    #expect(try bus.post("d.didX", object: "view/2") == .unknownName)
    // Without them, the declaration is in force; with another, that is.
    bus.configure(text.joined())
    #expect(try protocolName("view/2") == "B" && protocolName("view/1") == nil)
    bus.configure(text.joined(), ["view/*": "D"])
    #expect(try protocolName("view/2") == "D")
    bus.attach(["d.didX"], to: "view/7", by: owner, serial: 5, conformingTo: ["D"])
    #expect(
      bus.bus.objectEntries(of: 0).map {
        "\($0.object) \($0.protocolName) \($0.delegates) \($0.connection.rawValue)"
      }
        == ["view/* D 0 0", "view/2 D 0 0", "view/7 D 1 0"])
    #expect(bus.bus.objectEntries(of: 1).map(\.object) == ["view/2"])
  }

  @Test("go on with what they have when the configuration changes it")
  func reloading() throws {
    let owner = bus.connect()
    bus.configure("protocol P { optional did p.didX () }")
    bus.declare("o", as: "P", by: owner, serial: 1)
    bus.configure("protocol P { optional did p.didY () }\nprotocol Q {}")
    #expect(try bus.post("p.didX", object: "o") == nil)
    #expect(try bus.post("p.didY", object: "o") == .unknownName)
    bus.declare("new", as: "P", by: owner, serial: 2)
    #expect(try bus.post("p.didY", object: "new") == nil)
    bus.declare("o", as: "P", by: owner, serial: 3)
    #expect(bus.take() == ["A ok 1 as 1", "A ok 2 as 2", "A refused 3 conflict"])
    bus.configure("")
    #expect(bus.bus.protocolCount == 0)
    #expect(try bus.post("p.didX", object: "o") == nil)
    bus.attach(["p.didX"], to: "o", by: owner, serial: 4, conformingTo: ["P"])
    #expect(bus.take() == ["A ok 4 as 4 d1"])
    bus.cancel(1, by: owner)
    #expect(try bus.post("p.didY", object: "o") == nil)
  }

  @Test("of the configuration keep a protocol that has gone for as long as their objects have delegates")
  func kept() throws {
    let delegate = bus.connect()
    bus.configure("protocol P { optional did p.didX () }", ["view/*": "P", "other": "P"])
    bus.attach(["p.didX"], to: "view/1", by: delegate, serial: 1, conformingTo: ["P"])
    #expect(bus.configure("", ["view/*": "P", "other": "P"]).kept.map(\.pattern.text) == ["view/*"])
    #expect(try bus.post("p.didY", object: "view/2") == .unknownName)
    #expect(try bus.post("p.didY", object: "other") == nil)
    bus.disconnect(delegate)
    #expect(bus.configure("", ["view/*": "P"]).kept.isEmpty)
    #expect(try bus.post("p.didY", object: "view/2") == nil)
    #expect(bus.isEmpty)
  }

  @Test("do not let the configuration rely on what a connection has defined, and give way to its definitions")
  func replaced() throws {
    let owner = bus.connect()
    bus.declare("o", as: "P", defining: "protocol P { optional did p.didX () }", by: owner, serial: 1)
    bus.configure("", ["view/*": "P"])
    #expect(try bus.post("p.didY", object: "view/1") == nil)
    let report = bus.configure("protocol P { optional did p.didY () }", ["view/*": "P"])
    #expect(report.replacements.count == 1)
    #expect(try bus.post("p.didX", object: "view/1") == .unknownName)
    #expect(try bus.post("p.didX", object: "o") == nil)
    bus.disconnect(owner)
    #expect(bus.bus.protocolEntries(of: 0).map(\.connection) == [.bus])
  }

  // MARK: Listing

  @Test("are looked at by the object or by the protocol's name, inherited methods included")
  func members() throws {
    let owner = bus.connect()
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    for what in ["o", "Tap"] {
      let members = try bus.bus.memberEntries(of: what.utf8Bytes)
      #expect(members.count == 5)
      #expect(members.map(\.origin) == ["Tap", "Tap", "Scroll", "Scroll", "Scroll"])
      #expect(members.map(\.parameters) == Array(repeating: "()", count: 5))
      #expect(members.map(\.result) == ["", "(view: ?string)", "", "", ""])
    }
    #expect(throws: WireError.self) { try bus.bus.memberEntries(of: "free".utf8Bytes) }
    let entry = try #require(bus.bus.protocolEntries(of: 1).last)
    #expect(entry.name == "Tap" && entry.parents == ["Scroll"] && entry.members == 5)
    #expect(bus.bus.protocolEntries(of: 2).isEmpty)
  }
}
