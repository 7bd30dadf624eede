// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

/// An image viewer's protocols, through the library and tribunectl.
@Suite("Declared objects", .timeLimit(.minutes(2)))
struct ViewerProtocolTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("a delegate of an inheriting protocol gets inherited messages; one of the base protocol is refused")
  func inheritance() async throws {
    let viewer = try await bus.connect()
    let client = try await bus.connect()
    let declaration = try await viewer.declare(
      "view/1", as: "TapScrollViewDelegate", definitions: ProtocolTests.viewer)
    let base = AttentiveDelegate()
    let names = ["scrollView.didScroll"]
    for protocols in [[], ["ScrollViewDelegate"]] {
      let error = try await failure {
        try await client.set(base, to: "view/1", respondingTo: names, conformingTo: protocols)
      }
      #expect(error?.code == .notConforming)
      #expect(error?.message.contains("TapScrollViewDelegate") == true)
    }
    // One message names everything that is wrong.
    let error = try await failure {
      try await client.attach(
        base, to: "view/1", respondingTo: names + ["scrollView.didFly", "zoom.**"],
        conformingTo: ["TapScrollViewDelegate"])
    }
    for part in ["scrollView.didTap", "scrollView.didFly", "zoom.**"] {
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
    #expect(try await client.delegates().isEmpty)

    let tapped = AttentiveDelegate()
    try await client.set(
      tapped, to: "view/1", respondingTo: ["scrollView.*"], conformingTo: ["TapScrollViewDelegate"])
    try await viewer.post("scrollView.didScroll", object: "view/1", userInfo: #"{"offset": 1.5, "page": 2}"#)
    try await viewer.post("scrollView.didTap", object: "view/1", userInfo: #"{"at": {"x": 1, "y": 2}}"#)
    #expect(await tapped.next() == #"scrollView.didScroll {"offset": 1.5, "page": 2}"#)
    #expect(await tapped.next() == #"scrollView.didTap {"at": {"x": 1, "y": 2}}"#)

    let explanation = try await client.explain("scrollView.shouldScrollToTop", object: "view/1")
    #expect(explanation.protocolName == "TapScrollViewDelegate")
    #expect(explanation.delegates.count == 1)

    await tapped.set(.value(#"{"view": "image"}"#))
    #expect(
      try await viewer.query("scrollView.zoomTarget", object: "view/1", userInfo: "{}").value
        == #"{"view": "image"}"#)
    await tapped.set(.value(#"{"view": 7}"#))
    let reply = try await viewer.query("scrollView.zoomTarget", object: "view/1")
    #expect(reply.value == nil)
    #expect(reply.outcomes.map(\.kind) == [.failed])
    #expect(reply.outcomes.first?.reason.contains("view is a number") == true)

    let unknown = try await failure {
      try await viewer.postAcknowledged("scrollView.didFly", object: "view/1")
    }
    #expect(unknown?.code == .unknownName)
    let invalid = try await failure {
      _ = try await viewer.ask(
        "scrollView.shouldScrollToTop", object: "view/1", userInfo: #"{"animated": "yes"}"#)
    }
    #expect(invalid?.code == .invalidParameter)
    #expect(invalid?.message.contains("animated") == true)

    let objects = try await client.objects()
    #expect(objects.map(\.object) == ["view/1"] && objects.map(\.delegates) == [1])
    #expect(objects.map(\.connection) == [viewer.id])
    #expect(try await client.introspect("view/1").count == 5)
    #expect(try await client.protocols().map(\.name) == ["ScrollViewDelegate", "TapScrollViewDelegate"])
    try await declaration.withdraw()
    #expect(try await client.protocols().isEmpty)
    #expect(try await client.objects().map(\.protocolName) == [nil])
    try await viewer.postAcknowledged("scrollView.didFly", object: "view/1")
    await viewer.close()
    await client.close()
  }

  @Test("tribunectl declares and lists objects, and reports refusals")
  func commands() throws {
    try bus.folder.write(ProtocolTests.viewer, to: "viewer.protocol")
    let declared = try bus.staying(
      "declare", "view/1", "TapScrollViewDelegate", "--definitions=\(bus.folder.path)/viewer.protocol")
    #expect(try bus.tribunectl("tree").output.contains("TapScrollViewDelegate"))
    let members = try bus.tribunectl("introspect", "view/1").output
    #expect(members.contains("scrollView.didTap") && members.contains("ScrollViewDelegate"))
    let refused = try bus.tribunectl("post", "scrollView.didScroll", #"{"offset": 1}"#, "--object=view/1")
    #expect(refused.status != 0)
    #expect(refused.errors.contains("page is missing"))
    let delegate = try bus.tribunectl(
      "delegate", "scrollView.didScroll", "--object=view/1", "--conforms=ScrollViewDelegate", "--approve")
    #expect(delegate.status != 0)
    #expect(delegate.errors.contains("TapScrollViewDelegate"))
    try bus.folder.write("protocol A { optional a }\nprotocol B { b }", to: "wrong.protocol")
    let file = "\(bus.folder.path)/wrong.protocol"
    let wrong = try bus.tribunectl("declare", "view/2", "A", "--definitions=\(file)")
    #expect(wrong.status == 1)
    #expect(wrong.errors.contains("\(file):1:"))
    #expect(wrong.errors.contains("\n\(file):2:"))
    declared.end(2)
    #expect(try bus.tribunectl("introspect", "view/1").status != 0)
    #expect(try bus.tribunectl("post", "scrollView.didScroll", "--object=view/1").status == 0)
  }
}
