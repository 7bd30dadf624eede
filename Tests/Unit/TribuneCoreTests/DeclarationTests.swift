// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

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

  @Test("define protocols, declare objects, or both, until they are withdrawn")
  func lifetime() {
    let owner = bus.connect()
    bus.declare(defining: scrollView, by: owner, serial: 1)
    bus.declare("view/1", as: "Tap", by: owner, serial: 2)
    bus.declare("view/2", as: "Own", defining: "protocol Own : Scroll {}", by: owner, serial: 3)
    bus.expect("A ok 1 as 1", "A ok 2 as 2", "A ok 3 as 3")
    #expect(bus.bus.declarationCount == 3 && bus.bus.protocolCount == 3)
    #expect(bus.counts(at: owner).observations == 0 && bus.observationCount == 0)
    #expect(
      bus.bus.objectEntries(of: 0).map { "\($0.object) \($0.protocolName) \($0.connection)" }
        == ["view/1 Tap :1", "view/2 Own :1"])
    bus.cancel(3, by: owner)
    bus.cancel(3, by: owner)
    bus.expect("A ok 902", "A refused 902 notFound")
    #expect(bus.bus.protocolEntries(of: 0).map(\.name) == ["Scroll", "Tap"])
    bus.disconnect(owner)
    #expect(bus.isEmpty)
    #expect(bus.bus.objectEntries(of: 0).isEmpty)
  }

  struct Refused: Sendable, CustomTestStringConvertible {
    var object = ""
    var name = ""
    var source = ""
    let code: ErrorCode

    var testDescription: String { "\(object) \(name) \(source.prefix(40)): \(code)" }
  }

  static let refused = [
    Refused(object: "o", code: .invalidValue),
    Refused(object: "o", source: "protocol New {}", code: .invalidValue),
    Refused(name: "Scroll", code: .invalidValue),
    Refused(name: "New", source: "protocol New {}", code: .invalidValue),
    Refused(code: .invalidValue),
    Refused(object: "o", name: "None", code: .unknownProtocol),
    Refused(object: "o", name: "None", source: "protocol New {}", code: .unknownProtocol),
    Refused(object: "o\n", name: "Scroll", code: .invalidObject),
    Refused(object: "o", name: String(repeating: "P", count: 256), code: .limitExceeded),
    Refused(source: String(repeating: "#\n", count: 32_769), code: .limitExceeded),
    Refused(source: "protocol New {", code: .invalidProtocol),
    Refused(source: "protocol New : None {}", code: .invalidProtocol),
    Refused(source: "protocol Scroll {}", code: .conflict),
    Refused(source: "protocol New {}\nprotocol Scroll {}", code: .conflict),
    Refused(source: "protocol New : None {}\nprotocol Scroll {}", code: .invalidProtocol),
    Refused(
      source: "protocol New { optional did a.didB (x: int)\n optional did a.didB (x: bool) }",
      code: .invalidProtocol),
    Refused(source: "protocol New : Tap { required did scroll.didTap (x: int) }", code: .invalidProtocol),
  ]

  @Test("change nothing if they are refused", arguments: refused)
  func refusal(_ example: Refused) {
    let (owner, other) = (bus.connect(), bus.connect())
    bus.declare(defining: scrollView, by: owner, serial: 1)
    _ = bus.take()
    bus.declare(example.object, as: example.name, defining: example.source, by: other, serial: 4)
    bus.expect("B refused 4 \(example.code)")
    #expect(bus.bus.declarationCount == 1 && bus.bus.protocolCount == 2)
  }

  @Test("are refused with all mistakes of a definition, with lines and columns")
  func message() {
    var messages: [String] = []
    bus.onEffect = { if case .refusal(_, _, let error) = $0 { messages.append(error.message) } }
    bus.declare(
      defining: "protocol A : X {}\nprotocol B {\n  optional did a.b ()\n}\n", by: bus.connect(), serial: 1)
    let lines = messages.first?.split(separator: "\n") ?? []
    #expect(lines.count == 2)
    #expect(lines.first?.hasPrefix("1:14: ") == true && lines.last?.hasPrefix("3:16: ") == true, "\(lines)")
  }

  @Test("can be repeated by others; a different one is a conflict until the first is withdrawn")
  func conflicts() throws {
    let (one, two) = (bus.connect(), bus.connect())
    bus.declare("o", as: "Scroll", defining: scrollView, by: one, serial: 1)
    bus.declare("o", as: "Scroll", defining: "# mine\n" + scrollView, by: two, serial: 1)
    bus.declare("o", as: "Tap", by: two, serial: 2)
    bus.declare("o", as: "Scroll", by: two, serial: 1)
    bus.expect("A ok 1 as 1", "B ok 1 as 1", "B refused 2 conflict", "B refused 1 duplicateSerial")
    bus.disconnect(one)
    #expect(bus.bus.protocolEntries(of: 0).map(\.connection.rawValue) == [2, 2])
    #expect(try bus.post("scroll.didScroll", object: "o") == nil)
    bus.cancel(1, by: two)
    bus.declare("o", as: "Tap", defining: scrollView, by: two, serial: 2)
    bus.expect("B ok 902", "B ok 2 as 2")
    bus.disconnect(two)
    #expect(bus.isEmpty)
  }

  @Test("count with the observations, and those that define have a limit of their own")
  func limits() {
    let bus = BusUnderTest {
      $0.observationsMax = 3
      $0.definitionsMax = 2
      $0.totals[.protocols] = 6
    }
    let owner = bus.connect()
    bus.declare(defining: "protocol A {}\nprotocol B {}", by: owner, serial: 1)
    bus.declare(defining: "protocol C {}\nprotocol D {}", by: owner, serial: 2)
    bus.declare(defining: "protocol C {}", by: owner, serial: 2)
    bus.declare(defining: "protocol A {}", by: owner, serial: 3)
    bus.declare("o", as: "A", by: owner, serial: 3)
    bus.observe(by: owner, serial: 4)
    bus.declare("o", as: "A", by: owner, serial: 4)
    bus.expect(
      "A ok 1 as 1", "A refused 2 limitExceeded", "A ok 2 as 2", "A refused 3 limitExceeded", "A ok 3 as 3",
      "A refused 4 limitExceeded", "A refused 4 limitExceeded")
    for serial in Serial(1)...3 { bus.cancel(serial, by: owner) }
    #expect(bus.isEmpty)
  }

  @Test(
    "set conditions for their delegates, checked at the attach",
    arguments: [
      ("base", ["scroll.didScroll"], ["Scroll"], nil),
      ("base", ["scroll.didScroll", "scroll.didTap"], ["Tap"], nil), ("base", ["**"], ["Scroll"], nil),
      ("base", ["scroll.didScroll"], [], .notConforming),
      ("base", ["scroll.didTap"], ["Scroll"], .notConforming),
      ("base", ["scroll.didScroll"], ["Scroll", "None"], .unknownProtocol),
      ("tap", ["scroll.didTap", "scroll.didScroll"], ["Tap"], nil),
      ("tap", ["scroll.didTap", "scroll.didScroll"], ["Scroll"], .notConforming),
      ("tap", ["scroll.didScroll"], ["Tap"], .notConforming),
      ("tap", ["scroll.didTap"], ["Scroll", "Tap"], nil), ("free", ["what.ever"], ["None"], nil),
      // These delegates are for any object, and thus for base and tap.
      ("", ["scroll.didTap"], [], .notConforming), ("", ["own.shouldGo", "scroll.*"], [], .notConforming),
      ("", ["scroll.didScroll"], ["Scroll"], .notConforming),
      ("", ["own.shouldGo", "scroll.*"], ["Tap"], nil), ("", ["own.shouldGo"], [], nil),
      ("", ["**"], [], nil),
      ("", ["*.didTap"], [], nil),
    ] as [(String, [String], [String], ErrorCode?)])
  func attaching(object: String, patterns: [String], protocols: [String], code: ErrorCode?) {
    for isSet in [false, true] {
      let bus = BusUnderTest()
      let (owner, delegate) = (bus.connect(), bus.connect())
      bus.declare("base", as: "Scroll", defining: scrollView, by: owner, serial: 1)
      bus.declare("tap", as: "Tap", by: owner, serial: 2)
      _ = bus.take()
      bus.attach(patterns, to: object, by: delegate, serial: 5, isSet: isSet, conformingTo: protocols)
      #expect(bus.take() == [code.map { "B refused 5 \($0)" } ?? "B ok 5 as 5 d1"])
      #expect(bus.delegateCount == (code == nil ? 1 : 0))
    }
  }

  @Test("keep the earlier delegates of their objects, and check later ones")
  func earlierDelegates() throws {
    let (delegate, owner) = (bus.connect(), bus.connect())
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 1, conformingTo: ["Tap"])
    bus.ask("own.shouldGo", object: "o", by: owner, serial: 9)
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    #expect(bus.delegateCount == 1)
    _ = bus.take()
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 2)
    bus.attach(["own.shouldGo"], to: "o", by: delegate, serial: 2, label: "another")
    bus.ask("own.shouldGo", object: "o", by: owner, serial: 9)
    bus.expect("A refused 2 conflict", "A refused 2 notConforming", "B refused 9 unknownName")
    #expect(bus.bus.objectEntries(of: 0).map(\.delegates) == [1])
    bus.disconnect(owner)
    bus.ask("own.shouldGo", object: "o", by: delegate, serial: 9)
    #expect(bus.takeQuestions().count == 2)
  }

  struct Message: Sendable {
    let name: String
    let mode: QueryMode?
    let text: String
    let code: ErrorCode?

    init(_ name: String, _ mode: QueryMode?, _ code: ErrorCode? = nil, text: String = "{}") {
      self.name = "scroll.\(name)"
      self.mode = mode
      self.text = text
      self.code = code
    }
  }

  static let posts = [
    Message("didTap", nil), Message("didScroll", nil), Message("willScroll", nil),
    Message("shouldScrollToTop", nil, .unknownName), Message("zoomTarget", nil, .unknownName),
    Message("didOther", nil, .unknownName), Message("didTap", nil, .invalidParameter, text: "bad"),
  ]

  static let queries = [
    Message("didTap", .first, .unknownName), Message("willScroll", .first, .unknownName),
    Message("shouldOther", .parallel, .unknownName), Message("other", .collect, .unknownName),
  ]

  static let asks = [QueryMode.parallel, .all, .order].flatMap { mode in
    [
      Message("shouldScrollToTop", mode), Message("zoomTarget", mode, .invalidName),
      Message("shouldScrollToTop", mode, .invalidParameter, text: "bad"),
    ]
  }

  static let valueQueries = [QueryMode.first, .collect].flatMap { mode in
    [
      Message("zoomTarget", mode), Message("shouldScrollToTop", mode, .invalidName),
      Message("zoomTarget", mode, .invalidParameter, text: "bad"),
    ]
  }

  @Test(
    "limit messages about their objects only",
    arguments: posts + queries + asks + valueQueries)
  func message(_ message: Message) throws {
    let owner = bus.connect()
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    _ = bus.take()
    for object in ["o", "free", ""] {
      // No object has a question for permission under a value's name, nor a value under a question's.
      let isOfEach = message.code == .invalidName
      let expected = object == "o" || isOfEach ? message.code : nil
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
    "turn a value that does not fit into a failure, and refuse it",
    arguments: [QueryMode.first, .collect])
  func values(_ mode: QueryMode) {
    let (owner, delegate) = (bus.connect(), bus.connect())
    bus.declare("o", as: "Tap", defining: scrollView, by: owner, serial: 1)
    for serial in 1...2 as ClosedRange<Serial> {
      bus.attach(["**"], to: "o", by: delegate, serial: serial, label: "\(serial)", conformingTo: ["Tap"])
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
    bus.attach(["**"], to: "free", by: delegate, serial: 3)
    bus.ask("scroll.zoomTarget", object: "free", by: owner, serial: 3, mode: mode)
    bus.answer(.value, "bad", query: 2, delegate: 3, from: delegate)
    #expect(bus.lastVerdict?.summary == "allowed: d3 answered (bad)")
  }

  @Test("refuse to explain an impossible query")
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

  @Test("of the configuration come first, and the most specific pattern wins")
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
    bus.expect("A ok 1 as 1", "A refused 2 conflict")
    #expect(try bus.post("b.didX", object: "view/2") == nil)
    #expect(try bus.post("d.didX", object: "view/2") == .unknownName)
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

  @Test("keep their protocol when the configuration changes it")
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
    bus.expect("A ok 1 as 1", "A ok 2 as 2", "A refused 3 conflict")
    bus.configure("")
    #expect(bus.bus.protocolCount == 0)
    #expect(try bus.post("p.didX", object: "o") == nil)
    bus.attach(["p.didX"], to: "o", by: owner, serial: 4, conformingTo: ["P"])
    bus.expect("A ok 4 as 4 d1")
    bus.cancel(1, by: owner)
    #expect(try bus.post("p.didY", object: "o") == nil)
  }

  @Test("of the configuration keep a protocol that was removed while their objects have delegates")
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

  @Test("do not define protocols for the configuration, and give way to its definitions")
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

  @Test("are listed by object or by protocol, with inherited methods")
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
