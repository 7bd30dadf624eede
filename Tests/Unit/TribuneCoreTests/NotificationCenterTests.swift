// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("The notification center", .timeLimit(.minutes(15)))
struct NotificationCenterTests {
  private let bus = BusUnderTest()

  @Test(
    "An observation receives what matches its pattern and its object",
    arguments: [
      ("", "", "a", "", true), ("", "", "a.b.c", "o", true), ("", "o", "a.b", "o", true),
      ("", "o", "a.b", "p", false), ("", "o", "a.b", "", false), ("a.b", "", "a.b", "", true),
      ("a.b", "", "a.b", "o", true), ("a.b", "", "a.c", "", false), ("*.b", "", "a.b", "", true),
      ("a.**", "", "a.b.c", "", true), ("a.*", "o", "a.b", "o", true), ("a.*", "o", "a.b", "oo", false),
      ("a.*", "o", "a.b", "O", false), ("a.b", "window/4", "a.b", "window/42", false),
      ("a.b", "\u{FC}", "a.b", "u\u{308}", false), ("tribune.**", "", "tribune.started", "", true),
    ] as [(String, String, String, String, Bool)])
  func matching(pattern: String, of object: String, name: String, about: String, isReceived: Bool) throws {
    let observer = bus.connect()
    bus.observe(pattern, object: object, by: observer, serial: 1)
    bus.expect("A ok 1 as 1")
    let expected = isReceived ? "A" : ""
    #expect(try bus.receivers(name, object: about) == expected)
    #expect(try bus.receivers(name, object: about) == expected, "the second time, from the table of routes")
    bus.cancel(1, by: observer)
    #expect(try bus.receivers(name, object: about) == "")
    #expect(bus.isEmpty)
  }

  @Test("The same bytes are different routes if the name ends at a different byte")
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
    "Invalid names and objects are refused each time",
    arguments: [
      ("", "", .invalidName), ("a..b", "", .invalidName), ("a*", "", .invalidName),
      ("a b", "o", .invalidName), (String(repeating: "a", count: 256), "", .invalidName),
      ("a", "o\n", .invalidObject), ("a", String(repeating: "o", count: 256), .invalidObject),
      ("a", "\u{9B}", .invalidObject),
    ] as [(String, String, ErrorCode)])
  func invalid(_ name: String, _ object: String, _ code: ErrorCode) {
    bus.observe(by: bus.connect(), serial: 1)
    for _ in 0..<2 {
      #expect(refusal { () throws(WireError) in _ = try bus.receivers(name, object: object) } == code)
    }
  }

  @Test(
    "An invalid observation is refused",
    arguments: [
      ("a..b", "", .invalidPattern), ("**.a", "", .invalidPattern), ("a b", "", .invalidPattern),
      ("a", "\n", .invalidObject), ("", "\u{7F}", .invalidObject), ("a", "o/**", .invalidObject),
    ] as [(String, String, ErrorCode)])
  func refused(_ pattern: String, _ object: String, _ code: ErrorCode) {
    let slot = bus.connect()
    bus.observe(pattern, object: object, by: slot, serial: 7)
    bus.expect("A refused 7 \(code)")
    #expect(bus.isEmpty)
    guard code == .invalidPattern else { return }
    bus.send(Monitor(), from: slot, serial: 8, name: pattern)
    bus.expect("A refused 8 \(code)")
  }

  @Test("A serial is in use until its registration is cancelled")
  func duplicateSerial() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.observe("b", by: one, serial: 1)
    bus.send(Monitor(), from: one, serial: 1)
    bus.attach(["c"], by: one, serial: 1)
    bus.ask("shouldD", by: one, serial: 1)
    bus.observe("a", by: other, serial: 1)
    let duplicate = "A refused 1 duplicateSerial"
    #expect(bus.take() == ["A ok 1 as 1", duplicate, duplicate, duplicate, duplicate, "B ok 1 as 1"])
    bus.cancel(1, by: one)
    bus.observe("b", by: one, serial: 1)
    bus.expect("A ok 902", "A ok 1 as 1")
  }

  @Test("Serial 0 is invalid for a registration")
  func serialZero() {
    let slot = bus.connect()
    bus.observe("a", by: slot, serial: 0)
    bus.send(Monitor(), from: slot, serial: 0)
    bus.attach(["a"], by: slot, serial: 0)
    bus.ask("shouldA", by: slot, serial: 0)
    #expect(bus.take() == Array(repeating: "A refused 0 invalidValue", count: 4))
    #expect(bus.isEmpty)
  }

  @Test("Observations and monitors of a connection have a limit, and a cancelled one frees its place")
  func limit() {
    let bus = BusUnderTest { $0.observationsMax = 3 }
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("a", by: one, serial: 1)
    bus.observe("a", by: one, serial: 2)
    bus.send(Monitor(), from: one, serial: 3)
    bus.observe("b", by: one, serial: 4)
    bus.send(Monitor(), from: one, serial: 4)
    bus.observe("b", by: other, serial: 4)
    bus.expect(
      "A ok 1 as 1", "A ok 2 as 2", "A ok 3 as 3", "A refused 4 limitExceeded", "A refused 4 limitExceeded",
      "B ok 4 as 4")
    bus.cancel(3, by: one)
    bus.observe("b", by: one, serial: 4)
    bus.expect("A ok 902", "A ok 4 as 4")
  }

  @Test("The tokens of a connection's patterns have a limit, and a cancelled observation frees its own")
  func tokenLimit() {
    let (one, other) = (bus.connect(), bus.connect())
    let long = Array(repeating: "*", count: 128).joined(separator: ".")
    // 256 of them have 32,768 tokens, the limit, which includes monitors.
    bus.send(Monitor(), from: one, serial: 1, name: long)
    for serial in 2...256 { bus.observe(long, by: one, serial: Serial(serial)) }
    #expect(bus.take().last == "A ok 256 as 256")
    bus.observe("a", by: one, serial: 257)
    bus.send(Monitor(), from: one, serial: 257)
    bus.observe("a", by: other, serial: 257)
    bus.expect("A refused 257 limitExceeded", "A refused 257 limitExceeded", "B ok 257 as 257")
    bus.cancel(1, by: one)
    bus.observe(long, by: one, serial: 1)
    bus.observe("a", by: one, serial: 257)
    bus.expect("A ok 902", "A ok 1 as 1", "A refused 257 limitExceeded")
    bus.cancel(256, by: one)
    bus.observe("a.b", by: one, serial: 257)
    bus.expect("A ok 902", "A ok 257 as 257")
  }

  @Test("The pattern with the most stars matches names with as many tokens")
  func stars() throws {
    let slot = bus.connect()
    let stars = String(repeating: "*.", count: 127)
    bus.observe(stars, by: slot, serial: 1)
    bus.observe(stars + ".", by: slot, serial: 1)
    #expect(bus.take() == Array(repeating: "A refused 1 invalidPattern", count: 2))
    bus.observe(stars + "*", by: slot, serial: 1)
    bus.expect("A ok 1 as 1")
    func name(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: ".") }
    #expect(try bus.receivers(name(128)) == "A")
    #expect(try bus.receivers(name(127)) == "")
    #expect(try bus.receivers("a") == "")
    bus.cancel(1, by: slot)
    bus.observe(String(stars.dropLast(2)) + "**", by: slot, serial: 1)
    #expect(try bus.receivers(name(128)) == "A")
    #expect(try bus.receivers(name(127)) == "A")
    #expect(try bus.receivers(name(126)) == "")
  }

  @Test("A monitor receives traffic by its pattern, and nothing as an observer")
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

  @Test("A monitor without a pattern also gets frames without a valid name, even if it has other monitors")
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

  @Test("Observations are listed by connection, in order of creation")
  func entries() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.observe("b", object: "o", by: other, serial: 1)
    bus.observe("a", by: one, serial: 9)
    bus.observe(by: one, serial: 4)
    func lines(_ connection: UInt64) -> [String] {
      bus.bus.observationEntries(of: connection, for: nil).map {
        "\($0.connection) \($0.pattern) \($0.object)"
      }
    }
    #expect(lines(0) == [":1 ** ", ":1 a ", ":2 b o"])
    #expect(lines(2) == [":2 b o"])
    #expect(lines(3).isEmpty)
  }

  @Test("Routes are right for more names than the table has slots")
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
