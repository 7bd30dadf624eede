// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("The pager", .timeLimit(.minutes(15)))
struct PagerTests {
  private struct Status: Decodable {
    var scrolls: Int
    var pages: [Int]
    var pagesMax: Int
  }

  private let bus: TestBus
  private let connection: Connection

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
  }

  private func scroll(to page: Int) async throws {
    let userInfo = UserInfo(#"{"offset": \#(page * 100).5, "page": \#(page)}"#)
    try await connection.post("scrollView.didScroll", object: "view/timeline", userInfo: userInfo)
  }

  private func status() async throws -> Status {
    let reply = try await connection.query("pager.status", object: "pager/1")
    return try JSONDecoder().decode(Status.self, from: Data(try #require(reply.value).bytes))
  }

  @Test("the pager fetches the page shown and its neighbours, and keeps no more than three")
  func pages() async throws {
    let timeline = try ExamplePrograms.start("timeline", on: bus)
    try timeline.read(to: "has pages for pager/1")
    let pager = try ExamplePrograms.start("pager", on: bus)
    try pager.read(to: "pages view/timeline")
    try pager.read(to: "shows page 0, has [0, 1], never more than 2")
    for (page, pages) in [(1, "[0, 1, 2]"), (2, "[1, 2, 3]"), (30, "[29, 30, 31]"), (29, "[28, 29, 30]")] {
      try await scroll(to: page)
      try pager.read(to: "shows page \(page), has \(pages), never more than 3")
    }
    var given: [String] = []
    for _ in 0..<8 { given.append(try timeline.nextLine()) }
    #expect(given == [0, 1, 2, 3, 30, 31, 29, 28].map { "gives page \($0)" })
    let status = try await status()
    #expect(status.pages == [28, 29, 30])
    #expect(status.pagesMax == 3)
  }

  @Test("the timeline has 1,000 items, each on one page")
  func items() async throws {
    struct Page: Decodable {
      struct Item: Decodable { var id: Int }
      var items: [Item]
    }
    let timeline = try ExamplePrograms.start("timeline", on: bus)
    try timeline.read(to: "has pages for pager/1")
    var ids: [Int] = []
    for number in 0...50 {
      let reply = try await connection.query(
        "pager.page", object: "pager/1", userInfo: UserInfo(#"{"page": \#(number)}"#))
      let page = try JSONDecoder().decode(Page.self, from: Data(try #require(reply.value).bytes))
      #expect(page.items.count == (number < 50 ? 20 : 0))
      ids += page.items.map(\.id)
    }
    #expect(ids == Array(0..<1000))
  }

  @Test("pages that scroll by during a fetch are skipped")
  func coalescing() async throws {
    let gate = AsyncStream<Void>.makeStream()
    let source = AttentiveDelegate { question in
      if question.userInfo == #"{"page":2}"# { for await _ in gate.stream {} }
      return .value(#"{"items": []}"#)
    }
    try await connection.attach(source, to: "pager/1", respondingTo: ["pager.page"], timeout: .seconds(60))
    let pager = try ExamplePrograms.start("pager", on: bus)
    try pager.read(to: "shows page 0, has [0, 1], never more than 2")

    for number in 1...1000 { try await scroll(to: number / 40) }
    // When the pager handles this tap, it has received all earlier scrolls.
    try await connection.post("scrollView.didTap", object: "view/timeline", userInfo: #"{"item": 900}"#)
    try pager.read(to: "item 900 is not shown")
    #expect(try await status().scrolls == 1000)
    gate.continuation.finish()
    try pager.read(to: "shows page 25, has [24, 25, 26], never more than 3")
    #expect(try await status().pagesMax <= 3)
    let asked = await source.all.filter { $0.hasPrefix("pager.page") }
    #expect(Set(asked) == Set([0, 1, 2, 24, 25, 26].map { #"pager.page {"page":\#($0)}"# }))
    #expect(asked.count == 6)
  }

  @Test("a tap asks whether to open the link, and opens it unless a delegate vetoes")
  func taps() async throws {
    let timeline = try ExamplePrograms.start("timeline", on: bus)
    try timeline.read(to: "has pages for pager/1")
    let pager = try ExamplePrograms.start("pager", on: bus)
    try pager.read(to: "shows page 0, has [0, 1], never more than 2")
    func tap(_ item: Int) async throws -> String {
      try await connection.post(
        "scrollView.didTap", object: "view/timeline", userInfo: UserInfo(#"{"item": \#(item)}"#))
      return try pager.nextLine()
    }
    #expect(try await tap(7) == "opens https://example.org/items/7")
    #expect(try await tap(900) == "item 900 is not shown")
    let guardian = AttentiveDelegate(vetoing: "it is night")
    try await connection.attach(guardian, respondingTo: ["application.shouldOpenURL"])
    #expect(try await tap(39) == "does not open https://example.org/items/39: it is night")
    #expect(await guardian.all == [#"application.shouldOpenURL {"url":"https://example.org/items/39"}"#])
  }
}
