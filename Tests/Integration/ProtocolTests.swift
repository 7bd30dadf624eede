// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Protocols", .timeLimit(.minutes(15)))
struct ProtocolTests {
  private static let viewer = """
    protocol ScrollViewDelegate {
      optional should scrollView.shouldScrollToTop (animated: bool)
      optional did    scrollView.didScroll (offset: float, page: int)
    }
    protocol TapScrollViewDelegate : ScrollViewDelegate {
      type Point (x: float, y: float)
      required did    scrollView.didTap (at: Point, with: ?(finger, pen))
      optional did    scrollView.didLoad (tree: ?object, names: []string)
      optional value  scrollView.zoomTarget () -> (view: ?string)
    }
    """

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("each post of a run is checked")
  func run() throws {
    let owner = try RawClient.greeted(bus)
    try owner.declare("view/1", as: "TapScrollViewDelegate", defining: Self.viewer, serial: 1)
    #expect(try owner.next(.ok).header.serial == 1)
    let observer = try RawClient.observing("scrollView.*", on: bus)
    try owner.send { buffer in
      for page in 0..<100 {
        let text = page % 10 == 3 ? "{}" : #"{"offset": 0, "page": \#(page)}"#
        buffer.appendFrame(
          Post(), serial: 1000 + UInt64(page), name: "scrollView.didScroll", object: "view/1", text: text)
      }
    }
    for page in stride(from: 3, to: 100, by: 10) {
      let refusal = try owner.next(.error)
      #expect(refusal.header.serial == 1000 + UInt64(page))
      #expect(try refusal.decode(Refusal.self).code == .invalidParameter)
    }
    for page in (0..<100) where page % 10 != 3 {
      #expect(try observer.next(.post).payload == #"{"offset": 0, "page": \#(page)}"#)
    }
    try observer.expectSilence()
    let status = try owner.busEntry()
    #expect(status.delivered >= 90 && status.posted < 100)
  }

  @Test("tribunectl declares and lists objects, and reports refusals")
  func commands() throws {
    try bus.folder.write(Self.viewer, to: "viewer.protocol")
    let declared = try bus.staying(
      "declare", "view/1", "TapScrollViewDelegate", "--definitions=\(bus.folder.path)/viewer.protocol")
    #expect(try bus.tribunectl("tree").output.contains("TapScrollViewDelegate"))
    let members = try bus.tribunectl("introspect", "view/1").output
    #expect(members.contains("scrollView.didTap") && members.contains("ScrollViewDelegate"))
    let refused = try bus.tribunectl("post", "scrollView.didScroll", #"{"offset": 1}"#, "--object=view/1")
    #expect(refused.status != 0)
    #expect(refused.errors.contains("page is missing"))
    let delegate = try bus.tribunectl(
      "delegate", "scrollView.*", "--object=view/1", "--conforms=ScrollViewDelegate", "--approve")
    #expect(delegate.status != 0)
    #expect(delegate.errors.contains("\"TapScrollViewDelegate\", the protocol of \"view/1\""))
    #expect(delegate.errors.contains("--conforms="))
    let any = try bus.tribunectl("delegate", "scrollView.*", "--veto=no")
    #expect(any.status == 1 && any.errors.contains("view/1") && any.errors.contains("--conforms="))
    try bus.staying("delegate", "scrollView.*", "--veto=no", "--conforms=TapScrollViewDelegate")
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

  @Test("withdrawn declarations, and those of ended connections, leave nothing behind")
  func churn() throws {
    let watcher = try RawClient.greeted(bus)
    func memory() throws -> Int {
      #expect(try watcher.list(List(.objects)).isEmpty)
      #expect(try watcher.list(List(.protocols)).isEmpty)
      let status = try watcher.busEntry()
      #expect(status.observations == 0 && status.delegates == 0)
      return try bus.privateMemory()
    }
    func comeAndGo(_ rounds: Int) throws {
      let owner = try RawClient.greeted(bus)
      for round in 0..<rounds {
        let name = "P\(round)"
        try owner.declare(
          "view/\(round)", as: name,
          defining: Self.viewer.replacing("Tap", with: "T\(round)").replacing("ScrollView", with: name)
            + "\nprotocol \(name) {}", serial: 1)
        try owner.declare("view/\(round)", as: name, serial: 2)
        for serial in Serial(1)...2 { #expect(try owner.next().header.serial == serial) }
        for target in Serial(1)...2 { try owner.sendConfirmed(Cancel(target: target), serial: 3) }
      }
      try owner.leave()
    }
    func comeAndLeave(_ rounds: Int) throws {
      for round in 0..<rounds {
        let owner = try RawClient.greeted(bus)
        for serial in Serial(1)...16 {
          try owner.declare(
            "view/\(serial)", as: "P\(serial)", defining: "protocol P\(serial) {}", serial: serial)
          #expect(try owner.next(.ok).header.serial == serial, "round \(round)")
        }
        try owner.declare(defining: "protocol X {}", serial: 99)
        #expect(try owner.nextError() == .limitExceeded)
        try owner.leave()
      }
    }
    try comeAndGo(1000)
    try comeAndLeave(50)
    let before = try memory()
    try comeAndGo(1000)
    try comeAndLeave(50)
    #expect(try memory() < before + 2048, "in KiB")
  }
}

extension RawClient {
  func declare(_ object: String = "", as name: String = "", defining text: String = "", serial: Serial) throws
  {
    try send(Declare(protocolName: name), serial: serial, object: object, text: text)
  }
}
