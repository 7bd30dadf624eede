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

  @Test("A snapshot has the last post of each name and object, in order, after the ok")
  func snapshot() {
    retain("a.b", "o", "1")
    retain("a.b", "p", "2")
    retain("a.c", "", "3")
    retain("a.b", "o", "4")
    _ = bus.take()
    bus.elapse(milliseconds: 20)
    let observer = bus.connect()
    bus.observe("a.**", by: observer, serial: 5, .retained)
    bus.expect(
      "B ok 5 as 5",
      "B snapshot 5, a.b p 2 from :1 at 1000 ms, a.c 3 from :1 at 1000 ms, a.b o 4 from :1 at 1000 ms")
    retain("a.b", "o", "6")
    bus.expect("B a.b o 6 from :1")
    bus.observe("a.**", by: observer, serial: 6)
    bus.expect("B ok 6 as 6")
  }

  @Test("A snapshot has notifications that match the pattern and the object", arguments: Seeds.all)
  func patterns(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var kept: [(name: String, object: String, text: String)] = []
    for number in 0..<200 {
      let (name, object) = (random.name(), random.object())
      let text = number % 5 == 4 ? "" : "\(number)"
      retain(name, object, text)
      kept.removeAll { $0.name == name && $0.object == object }
      if !text.isEmpty { kept.append((name, object, text)) }
    }
    _ = bus.take()
    let observer = bus.connect()
    for serial in 1...100 as ClosedRange<Serial> {
      let (pattern, object) = (try Pattern(random.pattern()), random.object())
      bus.observe(pattern.text, object: object, by: observer, serial: serial, .retained)
      var expected: [String] = []
      for (name, about, text) in kept
      where pattern.matches(name.utf8Bytes) && (object.isEmpty || object == about) {
        let words = [name, about, text].filter { !$0.isEmpty }.joined(separator: " ")
        expected.append("\(words) from :1 at 1000 ms")
      }
      let snapshot = expected.isEmpty ? [] : [(["B snapshot \(serial)"] + expected).joined(separator: ", ")]
      #expect(bus.take() == ["B ok \(serial) as \(serial)"] + snapshot, "\(pattern) \(object)")
    }
  }

  @Test("A user has a share, which includes waiting posts")
  func accounts() {
    let bus = BusUnderTest { $0.totals[.retained] = 4_800 }
    let (one, again, other) = (bus.connect(uid: 1), bus.connect(uid: 1), bus.connect(uid: 2))
    func retain(_ name: String, by slot: ConnectionSlot, style: PostingStyle = .now, _ text: String = "x")
      -> String
    {
      bus.post(name, text: text, by: slot, serial: 9, .retain, style: style, flags: .acknowledge)
      return bus.take().filter { !$0.contains("from") }.joined()
    }
    // Each takes 514 bytes. The first user may have 2,250 of 4,500; then the other, 814 of 2,444.
    #expect(retain("a", by: one) == "A ok 9")
    #expect(retain("b", by: again) == "B ok 9")
    let long = String(repeating: "x", count: 1400)
    #expect(retain("a", by: one, long) == "A refused 9 limitExceeded", "the replaced one frees too little")
    #expect(retain("c", by: one, style: .whenIdle) == "A ok 9")
    #expect(retain("e", by: one) == "A ok 9")
    #expect(retain("d", by: one) == "A refused 9 limitExceeded")
    #expect(retain("a", by: again) == "B ok 9", "the replaced one frees its bytes")
    #expect(retain("f", by: other) == "C ok 9")
    #expect(retain("g", by: other) == "C refused 9 limitExceeded")
    #expect(retain("a", by: other) == "C refused 9 limitExceeded", "it is that user who has it then")
    #expect(retain("f", by: other, "") == "C ok 9")
    #expect(retain("a", by: other) == "C ok 9", "and the other one has no longer what is replaced")
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.name) == ["a", "b", "c", "e"])
    for name in ["a", "b", "c", "e"] { #expect(retain(name, by: one, "") == "A ok 9") }
    #expect(retain("a", by: one, long) == "A ok 9", "nothing is charged any more")
  }

  @Test("Each token of a name is charged, since it can need a node of the tree")
  func tokens() {
    let bus = BusUnderTest { $0.totals[.retained] = 213_400 }
    let poster = bus.connect()
    let tail = Array(repeating: "x", count: 126).joined(separator: ".")
    for number in 0..<4 {
      bus.post("\(number).\(tail)", text: "1", by: poster, serial: 9, .retain, flags: .acknowledge)
    }
    let replies = bus.take().filter { !$0.contains("from") }
    #expect(replies == ["A ok 9", "A ok 9", "A ok 9", "A refused 9 limitExceeded"])
  }

  @Test("A retained notification fits the protocol of its object, but one that clears it needs no userInfo")
  func declared() {
    bus.configure("protocol P { optional did a.didB (x: int) }", ["o": "P"])
    bus.post("a.didB", object: "o", text: "bad", by: poster, serial: 1, .retain, style: .whenIdle)
    bus.post("a.didC", object: "o", by: poster, serial: 2, .retain)
    bus.expect("A refused 1 invalidParameter", "A refused 2 unknownName")
    bus.post("a.didB", object: "o", text: "good", by: poster, serial: 3, .retain, style: .whenIdle)
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.name) == ["a.didB"])
    bus.post("a.didB", object: "o", by: poster, serial: 4, .retain)
    bus.expect(" a.didB o good from :1", " a.didB o from :1")
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).isEmpty)
  }

  @Test("Retained notifications are listed for one connection or for all")
  func ofOneConnection() {
    let (one, other) = (bus.connect(), bus.connect())
    bus.post("b", text: "x", by: one, .retain)
    bus.post("a.b", text: "x", by: other, .retain)
    bus.post("a", text: "x", by: other, .retain)
    func names(of connection: UInt64) -> [String] {
      bus.bus.retainedEntries(of: connection, for: nil, at: bus.now).map(\.name)
    }
    let ids = bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.connection.rawValue)
    #expect(ids.map(names(of:)) == [["a", "a.b"], ["a", "a.b"], ["b"]])
    #expect(names(of: 0) == ["a", "a.b", "b"])
    #expect(names(of: 99) == [])
  }

  @Test("A waiting post that is replaced is no longer charged")
  func replacedGivesBack() {
    let bus = BusUnderTest { $0.totals[.retained] = 2_600 }
    let poster = bus.connect()
    for number in 0..<20 {
      bus.post(
        "a", text: "\(number)", by: poster, serial: 9, [.retain, .coalesceByName], style: .whenIdle,
        flags: .acknowledge)
    }
    #expect(bus.take() == Array(repeating: "A ok 9", count: 20))
    bus.idle()
    #expect(bus.bus.retainedEntries(of: 0, for: nil, at: bus.now).map(\.name) == ["a"])
  }

  @Test("A snapshot for a suspended connection comes after what is buffered for it")
  func suspended() throws {
    let observer = bus.connect()
    bus.observe("a", by: observer, serial: 1, suspension: .hold)
    bus.suspend(by: observer)
    retain("a", "", "1")
    bus.observe("a", by: observer, serial: 2, .retained)
    #expect(
      bus.take().suffix(4) == [
        " a 1 from :1", "B ok 2 as 2", "B held, a 1", "B snapshot 2, a 1 from :1 at 1000 ms",
      ])
  }

  // MARK: Bound to their poster

  private func bind(_ name: String, _ object: String = "", _ text: String, by slot: ConnectionSlot) {
    bus.post(name, object: object, text: text, by: slot, [.retain, .bound])
  }

  @Test("A bound notification is removed when its poster's connection ends, and observers learn of it")
  func bound() {
    let (service, observer) = (bus.connect(), bus.connect())
    retain("svc.status", "b", "stays")
    let before = bus.bus.accounts.used(.retained)
    bind("svc.status", "a", "up", by: service)
    bind("svc.load", "", "1", by: service)
    bus.observe("svc.*", by: observer, serial: 1)
    _ = bus.take()
    bus.disconnect(service)
    bus.expect("C svc.status a from :2", "C svc.load from :2")
    bus.observe("svc.*", by: observer, serial: 2, .retained)
    bus.expect("C ok 2 as 2", "C snapshot 2, svc.status b stays from :1 at 1000 ms")
    #expect(bus.bus.accounts.used(.retained) == before)
  }

  @Test("A notification is bound to its last poster alone")
  func rebound() {
    let (one, two) = (bus.connect(), bus.connect())
    bind("a", "", "1", by: one)
    bind("a", "", "2", by: two)
    bind("b", "", "1", by: one)
    bus.post("b", text: "2", by: two, .retain)
    bind("c", "", "1", by: one)
    bus.post("c", by: two, .retain)
    _ = bus.take()
    bus.disconnect(one)
    #expect(bus.take().isEmpty)
    #expect(bus.isRetained("a", "", of: 3, at: bus.now) && bus.isRetained("b", "", of: 3, at: bus.now))
    bus.disconnect(two)
    #expect(!bus.isRetained("a", "", of: 3, at: bus.now) && bus.isRetained("b", "", of: 3, at: bus.now))
  }

  @Test("Only what is retained at once can be bound, within the connection's limit")
  func boundAlone() {
    bus.post("a", text: "x", by: poster, serial: 3, .bound)
    bus.post("a", text: "x", by: poster, serial: 4, [.retain, .bound], style: .whenIdle)
    bus.expect("A refused 3 invalidValue", "A refused 4 invalidValue")
    let small = BusUnderTest { $0.observationsMax = 1 }
    let service = small.connect()
    for serial in 1...2 as ClosedRange<Serial> {
      small.post(
        "a", object: "o\(serial)", text: "x", by: service, serial: serial, [.retain, .bound],
        flags: .acknowledge)
    }
    small.expect(" a o1 x from :1", "A ok 1", "A refused 2 limitExceeded")
  }

  @Test("After a restart, a notification is still bound", arguments: Restart.allCases)
  func boundOverRestart(_ restart: Restart) {
    let bus = BusUnderTest()
    bus.log = []
    let (service, observer) = (bus.connect(), bus.connect())
    bus.observe("a", by: observer, serial: 1)
    bus.post("a", text: "x", by: service, [.retain, .bound])
    _ = bus.take()
    bus.restart(restart)
    bus.disconnect(service)
    bus.expect("B a from :1")
    #expect(bus.bus.accounts.used(.retained) == 0)
  }

  @Test("A replay of a poster's end buffers nothing for a suspended observer", arguments: Restart.allCases)
  func boundBeforeSuspension(_ restart: Restart) {
    let bus = BusUnderTest()
    bus.log = []
    let (service, observer) = (bus.connect(), bus.connect())
    bus.observe("a", by: observer, serial: 1)
    bus.suspend(by: observer)
    bus.post("a", text: "x", by: service, [.retain, .bound])
    bus.disconnect(service)
    bus.disconnect(observer)
    while bus.bus.popBuffered() != nil {}
    _ = bus.take()
    bus.restart(restart)
    #expect(bus.bus.popBuffered() == nil)
  }
}
