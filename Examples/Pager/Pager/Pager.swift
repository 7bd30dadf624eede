// SPDX-License-Identifier: Apache-2.0

import Glibc
import JSONUserInfo
import Tribune

/// Shows a long timeline, with at most three pages of it in memory.
///
///     pager [VIEW]     the delegate of a scroll view, view/timeline by default
///
/// The scroll view posts its position hundreds of times a second, and the pager uses the latest position. The pager
/// queries its data source, a delegate of pager/1, for the current page and its neighbours, one at a time. It drops
/// all other pages. A tap on an item opens its link, unless `application.shouldOpenURL` is vetoed.
///
/// Try it: `timeline` in another terminal, then `tribunectl post scrollView.didScroll '{"offset": 700,
/// "page": 7}' --object=view/timeline`, and `tribunectl post scrollView.didTap '{"item": 141}'
/// --object=view/timeline`
actor Pager: Delegate {
  private let bus: Connection
  private var pages: [Int: Page] = [:]
  private var current = 0
  private var isTurning = false
  private var status = Status()

  init(on bus: Connection) { self.bus = bus }

  func received(_ delivery: Delivery) {
    // If the pager falls behind, the bus drops the oldest positions, which newer ones supersede.
    guard case .notification(let notification) = delivery else { return }
    do {
      if notification.name == "scrollView.didScroll" {
        current = min(max(0, try notification.userInfo.decoded(as: Scroll.self).page), Int.max - 1)
        status.scrolls += 1
        turn()
      } else {
        let tap: Tap = try notification.userInfo.decoded()
        Task { await open(tap.item) }
      }
    } catch {
      print("cannot read \(notification.name): \(error)")
    }
  }

  /// Answers with the status.
  func answer(_ question: Question) throws -> Answer {
    var status = status
    status.pages = pages.keys.sorted()
    return .value(try UserInfo(json: status))
  }

  // MARK: Pages

  private var window: ClosedRange<Int> { max(0, current - 1)...current + 1 }

  /// Fetches the pages around the current one, unless that is in progress.
  func turn() {
    guard !isTurning else { return }
    isTurning = true
    Task {
      do {
        try await fetchPages()
      } catch {
        print("cannot have page \(current): \(error)")
      }
    }
  }

  private func fetchPages() async throws {
    defer { isTurning = false }
    // The current page comes first. It can change during a fetch.
    while let page = [current, current + 1, current - 1].first(where: { $0 >= 0 && pages[$0] == nil }) {
      pages = pages.filter { window.contains($0.key) }
      let reply = try await bus.query(
        "pager.page", object: "pager/1", userInfo: UserInfo(json: PageRequest(page: page)))
      guard let value = reply.value else {
        print("nobody has page \(page)")
        return
      }
      guard window.contains(page) else { continue }
      pages[page] = try value.decoded(as: Page.self)
      status.pagesMax = max(status.pagesMax, pages.count)
    }
    pages = pages.filter { window.contains($0.key) }
    print("shows page \(current), has \(pages.keys.sorted()), never more than \(status.pagesMax)")
  }

  private func open(_ id: Int) async {
    guard let item = pages.values.lazy.flatMap(\.items).first(where: { $0.id == id }) else {
      print("item \(id) is not shown")
      return
    }
    do {
      let verdict = try await bus.ask(
        "application.shouldOpenURL", object: "application/pager", userInfo: UserInfo(json: ["url": item.url]))
      if verdict.isAllowed {
        print("opens \(item.url)")
      } else {
        print("does not open \(item.url): \(verdict.outcomes.map(\.reason).joined(separator: "; "))")
      }
    } catch {
      print("cannot ask whether to open \(item.url): \(error)")
    }
  }
}

/// The userInfo of each message has one of these types.
struct Scroll: Decodable { var page: Int }
struct Tap: Decodable { var item: Int }
struct PageRequest: Encodable { var page: Int }
struct Page: Decodable {
  struct Item: Decodable {
    var id: Int
    var url: String
  }
  var items: [Item]
}
struct Status: Encodable {
  var scrolls = 0
  var pages: [Int] = []
  var pagesMax = 0
}

@main
struct Main {
  static func main() async {
    let view = CommandLine.arguments.dropFirst().first ?? "view/timeline"
    do {
      let bus = try await Connection.connect()
      let pager = Pager(on: bus)
      try await bus.attach(
        pager, to: view, respondingTo: ["scrollView.didScroll", "scrollView.didTap"], label: "pager")
      try await bus.attach(pager, to: "pager/1", respondingTo: ["pager.status"], label: "pager")
      print("pages \(view)")
      await pager.turn()
      if let error = await bus.closed() { throw error }
    } catch {
      print(error)
      exit(1)
    }
  }
}
