// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSONUserInfo
import Tribune

/// A scroll view that shows an image, and declares a protocol for its delegate.
///
/// The protocol inherits from that of all scroll views. It adds taps, to which a delegate must respond. The view does
/// not know its delegates.
///
///     image-viewer [OBJECT]     view/photo by default
///
/// Type `scroll OFFSET`, `tap X Y`, or `top` to scroll to the beginning.
///
/// Try it: in another terminal, `tribunectl introspect view/photo`, and then `tribunectl delegate
/// 'scrollView.**' --object=view/photo --conforms=TapScrollViewDelegate`; the bus refuses
/// `--conforms=ScrollViewDelegate`.
@main
struct ImageViewer {
  static let protocols = """
    # What a scroll view asks and tells its delegate.
    protocol ScrollViewDelegate {
        # Whether to go back to the beginning.
        optional should scrollView.shouldScrollToTop (animated: bool)
        optional did    scrollView.didScroll (offset: float, page: int)
    }

    # What a scroll view that can be tapped tells it besides.
    protocol TapScrollViewDelegate : ScrollViewDelegate {
        required did    scrollView.didTap (x: float, y: float)
    }
    """

  struct Tap: Encodable {
    var x: Double
    var y: Double
  }

  struct Scroll: Encodable {
    static let pageHeight = 100.0
    var offset: Double
    var page: Int

    init(to offset: Double) {
      self.offset = offset
      page = Int(offset / Self.pageHeight)
    }
  }

  struct ScrollToTop: Encodable {
    var animated = true
  }

  let bus: Connection
  let view: String

  // The main actor's thread may block in `readLine`, because the connection has its own thread.
  @MainActor static func main() async {
    do {
      let bus = try await Connection.connect()
      let viewer = ImageViewer(bus: bus, view: CommandLine.arguments.dropFirst().first ?? "view/photo")
      try await bus.declare(viewer.view, as: "TapScrollViewDelegate", definitions: protocols)
      print("\(viewer.view) takes a TapScrollViewDelegate")
      while let line = readLine() { try await viewer.perform(line.split(separator: " ")) }
      await bus.close()
    } catch {
      print(error)
      exit(1)
    }
  }

  func perform(_ words: [Substring]) async throws {
    let numbers = words.dropFirst().compactMap { Double($0) }
    switch (words.first, numbers.count) {
    case ("scroll", 1) where (0...1e9).contains(numbers[0]): try await scroll(to: numbers[0])
    case ("tap", 2):
      let tap = Tap(x: numbers[0], y: numbers[1])
      try await bus.post("scrollView.didTap", object: view, userInfo: UserInfo(json: tap))
    case ("top", 0):
      let verdict = try await bus.ask(
        "scrollView.shouldScrollToTop", object: view, userInfo: UserInfo(json: ScrollToTop()))
      if verdict.isAllowed {
        try await scroll(to: 0)
      } else {
        print("stays where it is: \(verdict.outcomes.map(\.reason).joined(separator: "; "))")
      }
    default: print("scroll OFFSET, tap X Y or top")
    }
  }

  func scroll(to offset: Double) async throws {
    try await bus.post("scrollView.didScroll", object: view, userInfo: UserInfo(json: Scroll(to: offset)))
    print("scrolled to \(offset)")
  }
}
