// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Protocols that connections define, byte by byte.
@Suite("Protocols over the wire", .timeLimit(.minutes(2)))
struct ProtocolTests {
  static let viewer = """
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

  /// A client that has declared the viewer's view.
  private func owner() throws -> RawClient {
    let owner = try RawClient.greeted(bus)
    try owner.declare("view/1", as: "TapScrollViewDelegate", defining: Self.viewer, serial: 1)
    #expect(try owner.next(.ok).header.serial == 1)
    return owner
  }

  struct Payload: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    /// The field that the error names; nil when it fits.
    let complaint: String?

    init(_ name: String, _ text: String, _ complaint: String? = nil) {
      self.name = "scrollView.\(name)"
      self.text = text
      self.complaint = complaint
    }

    var testDescription: String { "\(name) \(text.prefix(60))" }
  }

  static let payloads = [
    Payload("didScroll", #"{"offset": 0.5, "page": 3}"#),
    Payload("didScroll", #"{"offset": 1, "page": 3}"#),
    Payload("didScroll", #"{"offset": 0.5}"#, "page is missing"),
    Payload("didScroll", "", "offset is missing"),
    Payload("didScroll", #"{"offset": 0.5, "page": 3, "extra": 1}"#, "extra is not a field"),
    Payload("didScroll", #"{"offset": 0.5, "page": "three"}"#, "page is a string"),
    Payload("didScroll", #"{"offset": 0.5, "page": 1.5}"#, "page"),
    Payload("didScroll", #"{"offset": 0.5, "page": null}"#, "page is null"),
    Payload("didScroll", #"{"offset": 0.5, "page": 3"#, "JSON"),
    Payload("didScroll", "[1, 2]", "an array"),
    Payload("didTap", #"{"at": {"x": 1, "y": 2}}"#),
    Payload("didTap", #"{"at": {"x": 1, "y": 2}, "with": "pen"}"#),
    Payload("didTap", #"{"at": {"x": 1}}"#, "at.y is missing"),
    Payload("didTap", #"{"at": {"x": 1, "y": 2}, "with": "foot"}"#, "with"),
    Payload("didLoad", #"{"names": ["a", "b", 3]}"#, "names[2]"),
    Payload("didLoad", #"{"names": [], "tree": {"a": {"b": [{}]}}}"#),
    Payload(
      "didLoad",
      #"{"names": [], "tree": "# + String(repeating: #"{"a":"#, count: 50_000) + "1"
        + String(repeating: "}", count: 50_001), "JSON"),
    Payload("didLoad", #"{"names": "# + String(repeating: "[", count: 100_000), "JSON"),
    Payload("didLoad", #"{"names": [""# + String(repeating: "a", count: 1 << 20) + #""]}"#, "JSON"),
  ]

  @Test("userInfo that does not fit is refused with the field, and reaches nobody", arguments: payloads)
  func userInfo(_ payload: Payload) throws {
    let owner = try owner()
    let observer = try RawClient.greeted(bus)
    try observer.observe("scrollView.*", serial: 1)
    try owner.send(
      Post(), serial: 2, flags: .acknowledge, name: payload.name, object: "view/1", text: payload.text)
    let reply = try owner.next()
    #expect(reply.header.serial == 2)
    if let complaint = payload.complaint {
      #expect(try reply.decode(Refusal.self).code == .invalidParameter)
      #expect(reply.payload.contains(complaint), "\(reply.payload)")
      try observer.expectSilence()
    } else {
      #expect(reply.kind == .ok, "\(reply.payload)")
      #expect(try observer.next(.post).payload == payload.text)
    }
    // About what nobody declared, anything goes.
    try owner.send(
      Post(), serial: 3, flags: .acknowledge, name: payload.name, object: "view/2", text: payload.text)
    #expect(try owner.next(.ok).header.serial == 3)
  }

  @Test("of a run of posts, each is looked at by itself")
  func run() throws {
    let owner = try owner()
    let observer = try RawClient.greeted(bus)
    try observer.observe("scrollView.*", serial: 1)
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
    guard case .bus(let status)? = try owner.list(List(.bus)).first else {
      Issue.record("the bus lists itself as something else")
      return
    }
    #expect(status.delivered >= 90 && status.posted < 100)
  }

  @Test("a name that the protocol does not have is refused, and so is one of another kind")
  func names() throws {
    let owner = try owner()
    for name in [
      "scrollView.didClose", "scrollView.shouldScrollToTop", "scrollView.zoomTarget", "other.didScroll",
    ] {
      try owner.send(Post(), serial: 2, name: name, object: "view/1", text: "{}")
      #expect(try owner.nextError() == .unknownName)
    }
    for (mode, name) in [
      (QueryMode.parallel, "scrollView.didTap"), (.all, "scrollView.zoomTarget"),
      (.first, "scrollView.shouldScrollToTop"), (.collect, "scrollView.other"),
    ] {
      try owner.send(Ask(mode: mode), serial: 2, name: name, object: "view/1", text: "{}")
      #expect(try owner.nextError() == .unknownName)
    }
    try owner.send(
      Ask(), serial: 2, name: "scrollView.shouldScrollToTop", object: "view/1", text: #"{"animated": 1}"#)
    #expect(try owner.nextError() == .invalidParameter)
    try owner.send(
      Ask(), serial: 2, name: "scrollView.shouldScrollToTop", object: "view/1", text: #"{"animated": true}"#)
    #expect(try owner.nextVerdict().isUnanswered)
  }

  @Test("definitions with mistakes, or of names that are taken, define nothing")
  func definitions() throws {
    let owner = try owner()
    let other = try RawClient.greeted(bus)
    for (text, code, place) in [
      ("protocol ScrollViewDelegate {}", ErrorCode.conflict, "1:10: "),
      (
        "protocol A {\n optional did a.didB (x: int)\n optional did a.didB (x: bool)\n}", .invalidProtocol,
        "3:"
      ),
      ("protocol A {}\nprotocol A { optional did a.didB () }", .conflict, "2:10: "),
      ("protocol A : B {}\nprotocol B : A {}", .invalidProtocol, "1:14: "),
      ("\u{1B}", .invalidProtocol, "1:1: "),
    ] {
      try other.declare(defining: text, serial: 1)
      let refusal = try other.next(.error)
      #expect(try refusal.decode(Refusal.self).code == code, "\(text)")
      #expect(refusal.payload.hasPrefix(place), "\(refusal.payload)")
      #expect(!refusal.payload.contains("\u{1B}"))
    }
    try other.declare(defining: Self.viewer, serial: 1)
    #expect(try other.next(.ok).header.serial == 1)
    try other.declare("view/1", as: "ScrollViewDelegate", serial: 2)
    #expect(try other.nextError() == .conflict)
    #expect(try owner.list(List(.protocols)).count == 2)
  }

  @Test("nothing is left of a thousand declarations, nor of those whose connections end")
  func churn() throws {
    let watcher = try RawClient.greeted(bus)
    func memory() throws -> Int {
      #expect(try watcher.list(List(.objects)).isEmpty)
      #expect(try watcher.list(List(.protocols)).isEmpty)
      guard case .bus(let status)? = try watcher.list(List(.bus)).first else { return 0 }
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
        for target in Serial(1)...2 {
          try owner.send(Cancel(target: target), serial: 3)
          #expect(try owner.next(.ok).header.serial == 3)
        }
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
