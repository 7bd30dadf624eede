// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Retained notifications", .timeLimit(.minutes(15)))
struct RetainedTests {
  let bus = BusUnderTest()
  let poster: ConnectionSlot

  init() { poster = bus.connect() }

  private func retain(_ name: String, _ object: String = "", _ text: String) {
    bus.post(name, object: object, text: text, by: poster, .retain)
  }

  @Test("The snapshot is the last of each name and object, in the order of posting, before the ok")
  func snapshot() {
    retain("a.b", "o", "1")
    retain("a.b", "p", "2")
    retain("a.c", "", "3")
    retain("a.b", "o", "4")
    _ = bus.take()
    bus.elapse(milliseconds: 20)
    let observer = bus.connect()
    bus.observe("a.**", by: observer, serial: 5, .retained)
    #expect(
      bus.take() == [
        "B retained 5 a.b p 2 from :1, 20 ms", "B retained 5 a.c 3 from :1, 20 ms",
        "B retained 5 a.b o 4 from :1, 20 ms", "B ok 5 as 5",
      ])
    retain("a.b", "o", "6")
    #expect(bus.take() == ["B a.b o 6 from :1"])
    bus.observe("a.**", by: observer, serial: 6)
    #expect(bus.take() == ["B ok 6 as 6"])
  }

  @Test("Without userInfo it is delivered, and nothing is retained any more")
  func clearing() {
    let observer = bus.connect()
    bus.observe(by: observer, serial: 1)
    retain("a", "o", "1")
    retain("b", "o", "2")
    retain("a", "o", "")
    retain("c", "o", "")
    bus.observe(by: observer, serial: 2, .retained)
    #expect(
      bus.take() == [
        "B ok 1 as 1", "B a o 1 from :1", "B b o 2 from :1", "B a o from :1", "B c o from :1",
        "B retained 2 b o 2 from :1, 0 ms", "B ok 2 as 2",
      ])
  }

  @Test("What is retained outlives who posted it")
  func outlives() {
    retain("a", "", "1")
    bus.disconnect(poster)
    let observer = bus.connect()
    bus.observe("a", by: observer, serial: 1, .retained)
    #expect(bus.take() == [" a 1 from :1", "A retained 1 a 1 from :1, 0 ms", "A ok 1 as 1"])
  }

  @Test("A snapshot is what a pattern lets through, compared with trying all", arguments: Seeds.all)
  func patterns(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let tokens = ["a", "b", "c"]
    var kept: [String: String] = [:]
    var order: [String] = []
    func name() -> String {
      (0..<Int.random(in: 1...4, using: &random)).map { _ in tokens.randomElement(using: &random) ?? "a" }
        .joined(separator: ".")
    }
    for number in 0..<200 {
      let (name, object) = (name(), ["", "o", "p"].randomElement(using: &random) ?? "")
      let isCleared = number % 5 == 4
      retain(name, object, isCleared ? "" : "\(number)")
      let key = "\(name) \(object)"
      order.removeAll { $0 == key }
      kept[key] = isCleared ? nil : "\(number)"
      if !isCleared { order.append(key) }
    }
    _ = bus.take()
    let observer = bus.connect()
    for serial in 1...100 as ClosedRange<Serial> {
      var parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        (tokens + ["*"]).randomElement(using: &random) ?? "*"
      }
      if Bool.random(using: &random) { parts.append("**") }
      let pattern = try Pattern(parts.joined(separator: "."))
      let object = ["", "o", "p"].randomElement(using: &random) ?? ""
      bus.observe(pattern.text, object: object, by: observer, serial: serial, .retained)
      let expected = order.filter { key in
        let words = key.split(separator: " ", omittingEmptySubsequences: false)
        return pattern.matches(String(words[0]).utf8Bytes) && (object.isEmpty || object == words[1])
      }
      let found = bus.take().dropLast().map { line in
        line.split(separator: " from")[0].split(separator: " ").dropFirst(3).joined(separator: " ")
      }
      #expect(
        found
          == expected.map { key in
            "\(key) \(kept[key] ?? "")".split(separator: " ").joined(separator: " ")
          }, "\(pattern) \(object)")
    }
  }

  @Test("It is applied when it is delivered: a snapshot before has the old, one after the new")
  func waiting() {
    retain("a", "", "1")
    bus.post("a", text: "2", by: poster, .retain, style: .whenIdle)
    bus.post("a", text: "3", by: poster, [.retain, .coalesceByName], style: .whenIdle)
    let observer = bus.connect()
    bus.observe("a", by: observer, serial: 1, .retained)
    bus.idle()
    bus.observe("a", by: observer, serial: 2, .retained)
    #expect(
      bus.take() == [
        " a 1 from :1", "B retained 1 a 1 from :1, 0 ms", "B ok 1 as 1", "B a 3 from :1",
        "B retained 2 a 3 from :1, 0 ms", "B ok 2 as 2",
      ])
  }

  @Test("A user has so much room, and what waits counts; all have so much together")
  func accounts() {
    var limits = BusLimits()
    limits.retainedUserMax = 2000
    limits.retainedMax = 3000
    let bus = BusUnderTest(limits)
    let (one, again, other) = (bus.connect(uid: 1), bus.connect(uid: 1), bus.connect(uid: 2))
    func retain(_ name: String, by slot: ConnectionSlot, style: PostingStyle = .now, _ text: String = "x")
      -> String
    {
      bus.post(name, text: text, by: slot, serial: 9, .retain, style: style, flags: .acknowledge)
      return bus.take().filter { !$0.contains("from") }.joined()
    }
    // Each takes 514 bytes.
    #expect(retain("a", by: one) == "A ok 9")
    #expect(retain("b", by: again) == "B ok 9")
    let long = String(repeating: "x", count: 1400)
    #expect(
      retain("a", by: one, long) == "A refused 9 limitExceeded", "what is replaced does not make enough room")
    #expect(retain("c", by: one, style: .whenIdle) == "A ok 9")
    #expect(retain("d", by: one) == "A refused 9 limitExceeded")
    #expect(retain("a", by: again) == "B ok 9", "what is replaced makes room")
    #expect(retain("a", by: other) == "C ok 9", "and so does what another takes over")
    #expect(retain("d", by: one) == "A ok 9")
    #expect(retain("e", by: other) == "C ok 9")
    #expect(retain("f", by: other) == "C refused 9 limitExceeded", "all together have 2,570 bytes")
    #expect(retain("e", by: other, "") == "C ok 9")
    #expect(retain("f", by: other) == "C ok 9")
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, at: bus.now).map(\.name) == ["a", "b", "c", "d", "f"])
    for name in ["a", "b", "c", "d", "f"] { #expect(retain(name, by: one, "") == "A ok 9") }
    #expect(retain("a", by: one, long) == "A ok 9", "all room is free again")
  }

  @Test("Each token of a name counts, since each has its place in the tree")
  func tokens() {
    let bus = BusUnderTest { $0.retainedUserMax = 100_000 }
    let poster = bus.connect()
    let tail = Array(repeating: "x", count: 126).joined(separator: ".")
    for number in 0..<4 {
      bus.post("\(number).\(tail)", text: "1", by: poster, serial: 9, .retain, flags: .acknowledge)
    }
    let replies = bus.take().filter { !$0.contains("from") }
    #expect(replies == ["A ok 9", "A ok 9", "A ok 9", "A refused 9 limitExceeded"])
  }

  @Test("What is retained about an object with a protocol fits that, and is cleared all the same")
  func declared() {
    bus.configure("protocol P { optional did a.didB (x: int) }", ["o": "P"])
    bus.post("a.didB", object: "o", text: "bad", by: poster, serial: 1, .retain, style: .whenIdle)
    bus.post("a.didC", object: "o", by: poster, serial: 2, .retain)
    #expect(bus.take() == ["A refused 1 invalidParameter", "A refused 2 unknownName"])
    bus.post("a.didB", object: "o", text: "good", by: poster, serial: 3, .retain, style: .whenIdle)
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, at: bus.now).map(\.name) == ["a.didB"])
    bus.post("a.didB", object: "o", by: poster, serial: 4, .retain)
    #expect(bus.take() == [" a.didB o good from :1", " a.didB o from :1"])
    #expect(bus.bus.retainedEntries(of: 0, at: bus.now).isEmpty)
  }

  @Test("What one connection has retained is listed apart from what others have")
  func ofOneConnection() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.post("b", text: "x", by: one, .retain)
    bus.post("a.b", text: "x", by: other, .retain)
    bus.post("a", text: "x", by: other, .retain)
    func names(of connection: UInt64) -> [String] {
      bus.bus.retainedEntries(of: connection, at: bus.now).map(\.name)
    }
    let ids = bus.bus.retainedEntries(of: 0, at: bus.now).map(\.connection.rawValue)
    #expect(ids.map(names(of:)) == [["a", "a.b"], ["a", "a.b"], ["b"]])
    #expect(names(of: 0) == ["a", "a.b", "b"])
    #expect(names(of: 99) == [])
  }

  @Test("What coalesces away gives its room back")
  func replacedGivesBack() {
    let bus = BusUnderTest { $0.retainedUserMax = 1200 }
    let poster = bus.connect()
    for number in 0..<20 {
      bus.post(
        "a", text: "\(number)", by: poster, serial: 9, [.retain, .coalesceByName], style: .whenIdle,
        flags: .acknowledge)
    }
    #expect(bus.take() == Array(repeating: "A ok 9", count: 20))
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, at: bus.now).map(\.name) == ["a"])
  }

  @Test("A snapshot for a suspended connection comes behind what is buffered for it")
  func suspended() throws {
    let observer = bus.connect()
    bus.observe("a", by: observer, serial: 1, suspension: .hold)
    bus.suspend(by: observer)
    retain("a", "", "1")
    bus.observe("a", by: observer, serial: 2, .retained)
    #expect(
      bus.take().suffix(4) == [
        " a 1 from :1", "B held, a 1", "B retained 2 a 1 from :1, 0 ms", "B ok 2 as 2",
      ])
  }
}
