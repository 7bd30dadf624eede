// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Posting styles and coalescing", .timeLimit(.minutes(15)))
struct PostingTests {
  let bus = BusUnderTest()
  let (poster, observer): (ConnectionSlot, ConnectionSlot)

  init() {
    (poster, observer) = (bus.connect(), bus.connect())
    bus.observe(by: observer, serial: 1)
    _ = bus.take()
  }

  @Test("Styles: now is at once, as soon as possible at the end of the iteration, idle when the bus is idle")
  func styles() {
    bus.post("a.idle", by: poster, [], style: .whenIdle)
    bus.post("a.soon", by: poster, [], style: .asSoonAsPossible)
    #expect(bus.take() == [])
    bus.post("a.now", by: poster, .immediately)
    bus.expect("B a.now from :1")
    bus.endIteration()
    bus.expect("B a.soon from :1")
    bus.endIteration()
    #expect(bus.take() == [])
    bus.idle()
    bus.expect("B a.idle from :1")
    #expect(bus.nextDeadline == nil)
  }

  @Test("A bus that is never idle delivers idle posts after a second")
  func neverIdle() {
    bus.post("a", by: poster, [], style: .whenIdle)
    bus.elapse(milliseconds: 400)
    bus.post("b", by: poster, [], style: .whenIdle)
    bus.expectNothing(forMilliseconds: 600)
    bus.expect("B a from :1")
    #expect(bus.advanceToNextDeadline())
    bus.expect("B b from :1")
  }

  @Test(
    "Posts of one style stay in order, whoever posts them",
    arguments: [PostingStyle.asSoonAsPossible, .whenIdle])
  func order(_ style: PostingStyle) {
    let other = bus.connect()
    for number in 1...5 { bus.post("a.b\(number)", by: number % 2 == 0 ? poster : other, [], style: style) }
    if style == .whenIdle { bus.idle() } else { bus.endIteration() }
    #expect(bus.take().map { $0.prefix(6) } == ["B a.b1", "B a.b2", "B a.b3", "B a.b4", "B a.b5"])
  }

  @Test(
    "Of posts that coalesce, the last is delivered, in its own place",
    arguments: [
      (
        PostOptions.coalesceByName,
        ["B p a 0 from :1", "B b o 2 from :1", "B c o 3 from :1", "B a p 5 from :1"]
      ),
      (.coalesceByObject, ["B p a 0 from :1", "B a p 5 from :1"]),
      (
        .coalescing,
        ["B p a 0 from :1", "B a o 1 from :1", "B b o 2 from :1", "B c o 3 from :1", "B a p 5 from :1"]
      ),
    ])
  func coalescing(_ options: PostOptions, _ delivered: [String]) {
    bus.post("p", object: "a", text: "0", by: poster, [], style: .whenIdle)
    bus.post("a", object: "o", text: "1", by: poster, [], style: .whenIdle)
    bus.post("b", object: "o", text: "2", by: poster, [], style: .whenIdle)
    bus.post("c", object: "o", text: "3", by: poster, [], style: .whenIdle)
    bus.post("a", object: "p", text: "4", by: poster, options, style: .whenIdle)
    if options == .coalesceByObject {
      bus.post("d", object: "o", text: "6", by: poster, options, style: .whenIdle)
      bus.post("e", object: "o", text: "7", by: poster, [.coalesceByObject], style: .now)
      bus.expect("B e o 7 from :1")
    }
    bus.post("a", object: "p", text: "5", by: poster, options, style: .whenIdle)
    bus.idle()
    #expect(bus.take() == delivered)
  }

  @Test("A post that coalesces by its object does not replace one by a name of the same letters")
  func nameLikeObject() {
    bus.post("o", text: "0", by: poster, .coalesceByName, style: .whenIdle)
    bus.post("d", object: "o", text: "1", by: poster, .coalesceByObject, style: .whenIdle)
    bus.idle()
    #expect(bus.take() == ["B o 0 from :1", "B d o 1 from :1"])
  }

  @Test(
    "When many posts wait, of any style, the oldest are delivered early, and none is lost",
    arguments: [[PostingStyle.whenIdle], [.asSoonAsPossible], [.whenIdle, .asSoonAsPossible]])
  func surplus(_ styles: [PostingStyle]) {
    let text = String(repeating: "x", count: 10_000)
    for number in 0..<300 {
      bus.post("a.b\(number)", text: text, by: poster, [], style: styles[number % styles.count])
      bus.elapse(milliseconds: 1)
    }
    func takeNames() -> [String] { bus.take().map { String($0.split(separator: " ")[1]) } }
    let early = takeNames()
    #expect(early == (0..<early.count).map { "a.b\($0)" })
    // The rest fill a mebibyte, with their overhead.
    #expect((200..<205).contains(early.count))
    bus.endIteration()
    bus.idle()
    #expect(Set(early + takeNames()) == Set((0..<300).map { "a.b\($0)" }))
  }

  @Test("A post is acknowledged when the bus has it, not when it is delivered")
  func acknowledged() {
    bus.post("a", by: poster, serial: 7, [], style: .whenIdle, flags: .acknowledge)
    bus.expect("A ok 7")
  }

  struct Wrong: Sendable {
    var name = "a"
    var object = ""
    var options: PostOptions = .immediately
    var style = PostingStyle.now
    var length: UInt32 = 0
    let code: ErrorCode
  }

  @Test(
    "An invalid post is refused, and not delivered",
    arguments: [
      Wrong(name: "a..b", code: .invalidName), Wrong(name: "tribune.a", code: .reservedName),
      Wrong(object: "\n", code: .invalidObject),
      Wrong(options: .awaited, style: .whenIdle, code: .invalidValue),
      Wrong(options: [.awaited, .coalesceByName], code: .invalidValue),
      Wrong(options: .retain, length: 65_536, code: .invalidValue),
    ])
  func refused(_ wrong: Wrong) {
    bus.post(
      wrong.name, object: wrong.object, by: poster, serial: 7, wrong.options, style: wrong.style,
      length: wrong.length, flags: .acknowledge)
    bus.expect("A refused 7 \(wrong.code)")
    bus.endIteration()
    bus.idle()
    #expect(bus.take() == [])
  }
}
