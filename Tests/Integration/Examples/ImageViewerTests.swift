// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@Suite("The image viewer", .timeLimit(.minutes(15)))
struct ImageViewerTests {
  private static let names = ["scrollView.didScroll", "scrollView.didTap", "scrollView.shouldScrollToTop"]

  private let bus: TestBus
  private let connection: Connection
  private let viewer: RunningProgram

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
    viewer = try ExamplePrograms.start("image-viewer", on: bus)
    try viewer.read(to: "view/photo takes a TapScrollViewDelegate")
  }

  @Test("a delegate of the inheriting protocol gets taps and all inherited messages")
  func inherited() async throws {
    let delegate = AttentiveDelegate { _ in .veto("still looking") }
    try await connection.set(
      delegate, to: "view/photo", respondingTo: Self.names, conformingTo: ["TapScrollViewDelegate"])

    try viewer.type("scroll 250")
    #expect(await delegate.next() == #"scrollView.didScroll {"offset":250,"page":2}"#)
    try viewer.type("tap 3 4.5")
    #expect(await delegate.next() == #"scrollView.didTap {"x":3,"y":4.5}"#)
    try viewer.type("top")
    #expect(await delegate.next() == #"scrollView.shouldScrollToTop {"animated":true}"#)
    try viewer.read(to: "stays where it is: still looking")
  }

  @Test("a delegate that does not conform cannot be set, and replaces no delegate")
  func baseProtocol() async throws {
    let (taps, base) = (AttentiveDelegate(), AttentiveDelegate())
    try await connection.set(
      taps, to: "view/photo", respondingTo: Self.names, label: "taps", conformingTo: ["TapScrollViewDelegate"]
    )
    let inherited = ["scrollView.didScroll", "scrollView.shouldScrollToTop"]
    for protocols in [["ScrollViewDelegate"], [], ["TapScrollViewDelegate"]] {
      let error = await #expect(throws: TribuneError.self) {
        try await connection.set(base, to: "view/photo", respondingTo: inherited, conformingTo: protocols)
      }
      #expect(error?.code == .notConforming)
    }
    #expect(try await connection.delegates().filter { $0.object == "view/photo" }.map(\.label) == ["taps"])
    try viewer.type("top")
    try viewer.read(to: "scrolled to 0.0")
    #expect(await base.all.isEmpty)
    #expect(await taps.next() == #"scrollView.shouldScrollToTop {"animated":true}"#)
  }

  @Test("introspection shows which messages are inherited")
  func introspection() async throws {
    let members = try await connection.introspect("view/photo")
    let origins = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.origin) })
    #expect(
      origins == [
        "scrollView.shouldScrollToTop": "ScrollViewDelegate", "scrollView.didScroll": "ScrollViewDelegate",
        "scrollView.didTap": "TapScrollViewDelegate",
      ])
  }
}
