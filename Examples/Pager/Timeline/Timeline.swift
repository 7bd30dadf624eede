// SPDX-License-Identifier: Apache-2.0

import Glibc
import JSONUserInfo
import Tribune

/// A data source with 1,000 items in pages.
///
///     timeline     for pager/1
///
/// Try it: `pager` in another terminal.
final class Timeline: Delegate {
  struct Item: Encodable {
    var id: Int
    var text: String
    var url: String
  }
  struct Page: Encodable { var items: [Item] }
  struct PageRequest: Decodable { var page: Int }

  static let itemsPerPage = 20

  private let items = (0..<1000).map {
    Item(id: $0, text: "What happened as number \($0)", url: "https://example.org/items/\($0)")
  }

  func answer(_ question: Question) throws -> Answer {
    let page = try question.userInfo.decoded(as: PageRequest.self).page
    // Pages after the last are empty.
    let start = min(max(0, page), items.count) * Self.itemsPerPage
    let range = (start..<start + Self.itemsPerPage).clamped(to: items.indices)
    print("gives page \(page)")
    return .value(try UserInfo(json: Page(items: Array(items[range]))))
  }
}

@main
struct Main {
  static func main() async {
    let timeline = Timeline()
    do {
      let bus = try await Connection.connect()
      try await bus.attach(timeline, to: "pager/1", respondingTo: ["pager.page"], label: "timeline")
      print("has pages for pager/1")
      if let error = await bus.closed() { throw error }
    } catch {
      print(error)
      exit(1)
    }
  }
}
