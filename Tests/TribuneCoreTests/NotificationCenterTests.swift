// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("The notification center", .timeLimit(.minutes(15)))
struct NotificationCenterTests {
  private let bus = BusUnderTest()

  @Test(
    "An observation receives what its pattern and its object let through",
    arguments: [
      PatternCase("", "", "a", "", true), PatternCase("", "", "a.b.c", "o", true),
      PatternCase("", "o", "a.b", "o", true),
      PatternCase("", "o", "a.b", "p", false), PatternCase("", "o", "a.b", "", false),
      PatternCase("a.b", "", "a.b", "", true),
      PatternCase("a.b", "", "a.b", "o", true), PatternCase("a.b", "", "a.c", "", false),
      PatternCase("a.b", "", "a", "", false),
      PatternCase("a.b", "", "a.b.c", "", false), PatternCase("a.*", "", "a.b", "", true),
      PatternCase("a.*", "", "a", "", false),
      PatternCase("a.*", "", "a.b.c", "", false), PatternCase("*.b", "", "a.b", "", true),
      PatternCase("*.b", "", "b", "", false),
      PatternCase("*", "", "a", "", true), PatternCase("*", "", "a.b", "", false),
      PatternCase("**", "", "a.b", "", true),
      PatternCase("a.**", "", "a.b.c", "", true), PatternCase("a.**", "", "a.b", "", true),
      PatternCase("a.**", "", "a", "", false),
      PatternCase("*.**", "", "a.b", "", true), PatternCase("*.**", "", "a", "", false),
      PatternCase("a.*.c", "", "a.b.c", "", true),
      PatternCase("a.*.c", "", "a.b.d", "", false), PatternCase("a.*", "o", "a.b", "o", true),
      PatternCase("a.*", "o", "a.b", "oo", false), PatternCase("a.*", "o", "a.b", "O", false),
      PatternCase("a.b", "window/42", "a.b", "window/42", true),
      PatternCase("a.b", "window/4", "a.b", "window/42", false),
      PatternCase("a.b", "ü", "a.b", "ü", true), PatternCase("a.b", "\u{FC}", "a.b", "u\u{308}", false),
      PatternCase("a", "", "A", "", false), PatternCase("tribune.**", "", "tribune.started", "", true),
    ])
  func matching(_ match: PatternCase) throws {
    let observer = bus.connect()
    bus.observe(match.pattern, object: match.object, by: observer, serial: 1)
    #expect(bus.take() == ["A ok 1 as 1"])
    let expected = match.meets ? "A" : ""
    #expect(try bus.receivers(match.name, object: match.about) == expected)
    #expect(try bus.receivers(match.name, object: match.about) == expected, "the second time, from the table")
    bus.cancel(1, by: observer)
    #expect(try bus.receivers(match.name, object: match.about) == "")
    #expect(bus.isEmpty)
  }

  @Test("A slot that is taken again receives nothing for the connection that had it")
  func slotReuse() throws {
    let first = bus.connect()
    bus.observe("a.b", by: first, serial: 1)
    #expect(try bus.receivers("a.b") == "A")
    bus.disconnect(first)
    let second = bus.connect()
    #expect(first == second)
    #expect(try bus.receivers("a.b") == "")
    bus.observe("a.c", by: second, serial: 1)
    #expect(try bus.receivers("a.b") == "")
    #expect(try bus.receivers("a.c") == "A")
  }

  @Test("Where the name ends and the object begins makes a difference, though the bytes are the same")
  func boundary() throws {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.observe("ab", by: other, serial: 1)
    for _ in 0..<2 {
      #expect(try bus.receivers("a", object: "bc") == "A")
      #expect(try bus.receivers("ab", object: "c") == "B")
      #expect(try bus.receivers("abc") == "")
    }
  }

  @Test(
    "What is no name, or no object, has no receivers, and is refused each time",
    arguments: [
      ("", "", .invalidName), ("a..b", "", .invalidName), ("a*", "", .invalidName),
      ("a b", "o", .invalidName),
      (String(repeating: "a", count: 256), "", .invalidName), ("a", "o\n", .invalidObject),
      ("a", String(repeating: "o", count: 256), .invalidObject), ("a", "\u{9B}", .invalidObject),
    ] as [(String, String, ErrorCode)])
  func invalid(_ name: String, _ object: String, _ code: ErrorCode) {
    bus.observe(by: bus.connect(), serial: 1)
    for _ in 0..<2 {
      #expect(refusal { () throws(WireError) in _ = try bus.receivers(name, object: object) } == code)
    }
  }

  @Test(
    "A wrong observation is refused, and nothing is observed",
    arguments: [
      ("a..b", "", .invalidPattern), ("**.a", "", .invalidPattern), ("a b", "", .invalidPattern),
      ("a", "\n", .invalidObject), ("", "\u{7F}", .invalidObject),
    ] as [(String, String, ErrorCode)])
  func refused(_ pattern: String, _ object: String, _ code: ErrorCode) {
    let slot = bus.connect()
    bus.observe(pattern, object: object, by: slot, serial: 7)
    #expect(bus.take() == ["A refused 7 \(code)"])
    #expect(bus.isEmpty)
    guard code == .invalidPattern else { return }
    bus.send(Monitor(), from: slot, serial: 8, name: pattern)
    #expect(bus.take() == ["A refused 8 \(code)"])
  }

  @Test("A serial that stands for something is not taken again until that is taken back")
  func duplicateSerial() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.observe("b", by: one, serial: 1)
    bus.send(Monitor(), from: one, serial: 1)
    bus.attach(["c"], by: one, serial: 1)
    bus.ask("d", by: one, serial: 1)
    bus.observe("a", by: other, serial: 1)
    let duplicate = "A refused 1 duplicateSerial"
    #expect(bus.take() == ["A ok 1 as 1", duplicate, duplicate, duplicate, duplicate, "B ok 1 as 1"])
    bus.cancel(1, by: one)
    bus.observe("b", by: one, serial: 1)
    #expect(bus.take() == ["A ok 902", "A ok 1 as 1"])
  }

  @Test("Serial 0 stands for no frame, and registers nothing")
  func serialZero() {
    let slot = bus.connect()
    bus.observe("a", by: slot, serial: 0)
    bus.send(Monitor(), from: slot, serial: 0)
    bus.attach(["a"], by: slot, serial: 0)
    bus.ask("a", by: slot, serial: 0)
    #expect(bus.take() == Array(repeating: "A refused 0 invalidValue", count: 4))
    #expect(bus.isEmpty)
  }

  @Test("A connection has so many observations and monitors, and room again when it takes one back")
  func limit() {
    let bus = BusUnderTest { $0.observationsMax = 3 }
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.observe("a", by: one, serial: 2)
    bus.send(Monitor(), from: one, serial: 3)
    bus.observe("b", by: one, serial: 4)
    bus.send(Monitor(), from: one, serial: 4)
    bus.observe("b", by: other, serial: 4)
    #expect(
      bus.take() == [
        "A ok 1 as 1", "A ok 2 as 2", "A ok 3 as 3", "A refused 4 limitExceeded", "A refused 4 limitExceeded",
        "B ok 4 as 4",
      ])
    bus.cancel(3, by: one)
    bus.observe("b", by: one, serial: 4)
    #expect(bus.take() == ["A ok 902", "A ok 4 as 4"])
  }

  @Test(
    "The patterns that a connection observes have so many tokens in all, and room again for those that go")
  func tokenLimit() {
    let (one, other) = (bus.connect(), bus.connect())
    let long = Array(repeating: "*", count: 128).joined(separator: ".")
    // 256 of them are 32,768 tokens; a monitor's count, too.
    bus.send(Monitor(), from: one, serial: 1, name: long)
    for serial in 2...256 { bus.observe(long, by: one, serial: Serial(serial)) }
    #expect(bus.take().last == "A ok 256 as 256")
    bus.observe("a", by: one, serial: 257)
    bus.send(Monitor(), from: one, serial: 257)
    bus.observe("a", by: other, serial: 257)
    #expect(
      bus.take() == ["A refused 257 limitExceeded", "A refused 257 limitExceeded", "B ok 257 as 257"])
    bus.cancel(1, by: one)
    bus.observe(long, by: one, serial: 1)
    bus.observe("a", by: one, serial: 257)
    #expect(bus.take() == ["A ok 902", "A ok 1 as 1", "A refused 257 limitExceeded"])
    bus.cancel(256, by: one)
    bus.observe("a.b", by: one, serial: 257)
    #expect(bus.take() == ["A ok 902", "A ok 257 as 257"])
  }

  @Test("A pattern of as many stars as fit is one, and meets the names with as many tokens")
  func stars() throws {
    let slot = bus.connect()
    let stars = String(repeating: "*.", count: 127)
    // What ends in a dot has an empty token.
    bus.observe(stars, by: slot, serial: 1)
    bus.observe(stars + ".", by: slot, serial: 1)
    #expect(bus.take() == Array(repeating: "A refused 1 invalidPattern", count: 2))
    bus.observe(stars + "*", by: slot, serial: 1)
    #expect(bus.take() == ["A ok 1 as 1"])
    func name(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: ".") }
    #expect(try bus.receivers(name(128)) == "A")
    #expect(try bus.receivers(name(127)) == "")
    #expect(try bus.receivers("a") == "")
    bus.cancel(1, by: slot)
    // 126 stars and what is one or more.
    bus.observe(String(stars.dropLast(2)) + "**", by: slot, serial: 1)
    #expect(try bus.receivers(name(128)) == "A")
    #expect(try bus.receivers(name(127)) == "A")
    #expect(try bus.receivers(name(126)) == "")
  }

  @Test("What nobody registered cannot be taken back, and what others have is not touched")
  func cancelNothing() throws {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.cancel(1, by: other)
    bus.cancel(2, by: one)
    #expect(bus.take() == ["A ok 1 as 1", "B refused 902 notFound", "A refused 902 notFound"])
    #expect(try bus.receivers("a") == "A")
    bus.cancel(1, by: one)
    bus.cancel(1, by: one)
    #expect(bus.take() == ["A ok 902", "A refused 902 notFound"])
  }

  @Test("A monitor sees by its pattern, and receives nothing as an observer")
  func monitors() throws {
    let monitor = bus.connect()
    #expect(!bus.isMonitored)
    bus.send(Monitor(), from: monitor, serial: 1, name: "a.**")
    #expect(bus.isMonitored)
    let (seen, unseen) = (bus.bus.monitors(of: "a.b".utf8Bytes), bus.bus.monitors(of: "b".utf8Bytes))
    #expect(seen == [monitor] && unseen.isEmpty)
    #expect(try bus.receivers("a.b") == "")
    bus.disconnect(monitor)
    #expect(!bus.isMonitored)
  }

  @Test("A monitor without a pattern also sees what passes under no name, whatever else it monitors")
  func monitorsOfEverything() {
    let (all, some) = (bus.connect(), bus.connect())
    bus.send(Monitor(), from: some, serial: 1, name: "**")
    for (serial, name) in [(1, ""), (2, ""), (3, "a.*")] as [(Serial, String)] {
      bus.send(Monitor(), from: all, serial: serial, name: name)
    }
    #expect(bus.bus.monitors(of: "a.b".utf8Bytes) == [all, some].sorted { $0.index < $1.index })
    for name in ["", "no name"] { #expect(bus.bus.monitors(of: name.utf8Bytes) == [all]) }
    bus.cancel(1, by: all)
    #expect(bus.bus.monitors(of: "".utf8Bytes) == [all])
    bus.cancel(2, by: all)
    #expect(bus.bus.monitors(of: "".utf8Bytes).isEmpty)
    #expect(bus.bus.monitors(of: "a.b".utf8Bytes).count == 2)
    #expect(bus.bus.isMonitor(all) && bus.bus.isMonitor(some))
    bus.cancel(3, by: all)
    #expect(!bus.bus.isMonitor(all) && bus.isMonitored)
  }

  @Test("Observations are listed by connection, in the order in which they were made")
  func entries() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("b", object: "o", by: other, serial: 1)
    bus.observe("a", by: one, serial: 9)
    bus.observe(by: one, serial: 4)
    func lines(_ connection: UInt64) -> [String] {
      bus.bus.observationEntries(of: connection).map { "\($0.connection) \($0.pattern) \($0.object)" }
    }
    #expect(lines(0) == [":1 ** ", ":1 a ", ":2 b o"])
    #expect(lines(2) == [":2 b o"])
    #expect(lines(3).isEmpty)
  }

  @Test(
    "Receivers are those that matching each observation gives, whatever came before", arguments: Seeds.all)
  func oracle(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var observations: [(slot: ConnectionSlot, serial: Serial, pattern: Pattern, object: String)] = []
    let slots = (0..<5).map { _ in bus.connect() }
    var lastSerial: Serial = 0
    for _ in 0..<600 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let (pattern, object) = (random.pattern(), random.object())
        let slot = random.pick(slots)
        lastSerial += 1
        bus.observe(pattern, object: object, by: slot, serial: lastSerial)
        observations.append((slot, lastSerial, try Pattern(pattern), object))
      case 1 where !observations.isEmpty:
        let index = Int.random(in: 0..<observations.count, using: &random)
        bus.cancel(observations[index].serial, by: observations[index].slot)
        observations.remove(at: index)
      default:
        let (name, object) = (random.name(), random.object())
        let matching = observations.filter { observation in
          observation.pattern.matches(name.utf8Bytes)
            && (observation.object.isEmpty || observation.object == object)
        }
        let expected = Set(matching.map(\.slot.letter)).sorted().joined()
        #expect(try bus.receivers(name, object: object) == expected, "\(name) \(object)")
      }
      #expect(bus.observationCount == observations.count)
    }
    for slot in slots { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("More names than the table of routes has places are told apart")
  func manyRoutes() throws {
    let slots = (0..<20).map { _ in bus.connect() }
    for (index, slot) in slots.enumerated() { bus.observe("n\(index).**", by: slot, serial: 1) }
    for round in 0..<2 {
      for number in 0..<5000 {
        let expected = slots[number % 20].letter
        #expect(try bus.receivers("n\(number % 20).x\(number)") == expected, "round \(round)")
      }
    }
  }
}

extension SplitMix64 {
  mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }

  mutating func name() -> String {
    (0..<Int.random(in: 1...4, using: &self)).map { _ in pick(["a", "b", "c"]) }.joined(separator: ".")
  }

  /// A name that may have stars, or nothing.
  mutating func pattern() -> String {
    var tokens = (0..<Int.random(in: 1...4, using: &self)).map { _ in pick(["a", "b", "c", "*"]) }
    if oneIn(4) { tokens[tokens.count - 1] = "**" }
    return tokens.joined(separator: ".")
  }

  mutating func object() -> String { pick(["", "", "o", "p", "window/42"]) }
}
