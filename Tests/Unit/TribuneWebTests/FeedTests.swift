// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWeb

@Suite("Events for pages", .timeLimit(.minutes(15)))
struct FeedTests {
  private func text(_ feed: Feed, _ cursor: inout Feed.Cursor) -> String {
    var text = ""
    while let event = feed.next(&cursor) { text += String(decoding: event, as: UTF8.self) }
    return text
  }

  private func json(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test("A new page gets all sections, and then changes")
  func follows() {
    var feed = Feed()
    var cursor = Feed.Cursor()
    feed.addVerdict(json("1"))
    feed.set(.bus, json("{}"))
    #expect(
      text(feed, &cursor)
        == "event: hello\ndata: {}\n\nevent: verdict\ndata: 1\n\nevent: bus\ndata: {}\n\n")
    #expect(text(feed, &cursor) == "")
    feed.addVerdict(json("2"))
    #expect(text(feed, &cursor) == "event: verdict\ndata: 2\n\n")
  }

  @Test("An unchanged section is not sent again, and of several versions only the last")
  func sections() {
    var feed = Feed()
    var cursor = Feed.Cursor()
    for isNew in [true, false] {
      let differs = feed.set(.holds, json("1"))
      #expect(differs == isNew)
      #expect(text(feed, &cursor).contains("event: holds") == isNew)
    }
    feed.set(.holds, json("2"))
    feed.set(.holds, json("3"))
    #expect(text(feed, &cursor) == "event: holds\ndata: 3\n\n")
  }

  @Test("A page that is too slow learns how many verdicts it missed")
  func missed() {
    var feed = Feed()
    var cursor = Feed.Cursor()
    _ = text(feed, &cursor)
    for number in 0..<Feed.verdictsMax + 3 { feed.addVerdict(json("\(number)")) }
    let sent = text(feed, &cursor)
    #expect(sent.hasPrefix("event: missed\ndata: 3\n\nevent: verdict\ndata: 3\n\n"))
    #expect(sent.components(of: "event: verdict") == Feed.verdictsMax)
    var late = Feed.Cursor()
    #expect(!text(feed, &late).contains("missed"))
  }

  @Test("Verdicts are also bounded in bytes")
  func bytes() {
    var feed = Feed()
    for _ in 0..<100 { feed.addVerdict([UInt8](repeating: UInt8(ascii: "1"), count: 100_000)) }
    var cursor = Feed.Cursor()
    #expect(text(feed, &cursor).utf8.count < 5 << 20)
  }

  @Test("A page that is behind still gets verdicts and each section, however often these change")
  func turns() {
    var feed = Feed()
    var cursor = Feed.Cursor()
    _ = text(feed, &cursor)
    var read: [String: Int] = [:]
    for number in 0..<30 {
      for _ in 0..<2 { feed.addVerdict(json("\(number)")) }
      for section in Feed.Section.allCases { feed.set(section, json("\(number)")) }
      let event = feed.next(&cursor).map { String(decoding: $0, as: UTF8.self) } ?? ""
      read[String(event.prefix { $0 != "\n" }), default: 0] += 1
    }
    #expect(read["event: verdict"] == 2 + 16)
    for section in Feed.Section.allCases { #expect(read["event: \(section.rawValue)"] == 2) }
  }

  @Test("A page without news gets a comment at each tick")
  func ticks() {
    var feed = Feed()
    var cursor = Feed.Cursor()
    _ = text(feed, &cursor)
    feed.tick()
    #expect(text(feed, &cursor) == ":\n\n")
    #expect(text(feed, &cursor) == "")
  }
}

extension String {
  fileprivate func components(of part: String) -> Int { split(separator: part).count - 1 }
}
