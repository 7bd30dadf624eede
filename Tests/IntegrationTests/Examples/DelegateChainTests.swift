// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import Tribune

/// A window with several delegates, a plain observer beside it, and a browser with a data source.
@Suite("The delegate chain", .timeLimit(.minutes(5)))
struct DelegateChainTests {
  private let bus: TestBus
  private let connection: Connection

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
  }

  private func openWindow() async throws -> ExampleProgram {
    let window = try ExamplePrograms.start("window", on: bus)
    try await window.read(to: "window/1 is open")
    return window
  }

  @Test("who wants to save first vetoes, saves, is asked again, and the window closes")
  func saving() async throws {
    // One who observes everything about the window, and a plain observer that can only watch.
    var seen = try await connection.observe(object: "window/1").makeAsyncIterator()
    let watcher = try bus.staying("-j", "observe", "**", "--object=window/1")
    let window = try await openWindow()
    let file = "\(bus.folder.path)/notes"
    let editor = try ExamplePrograms.start("editor", file, "my notes", on: bus)
    try await editor.read(to: "edits \(file) in window/1")

    try window.type("close")
    #expect(try await window.nextLine() == "editor vetoed \(file) has changes that are not saved")
    #expect(try await window.nextLine() == "stays open")
    #expect(try await editor.nextLine() == "saved \(file)")
    #expect(try bus.folder.read("notes") == "my notes")
    #expect(try await window.nextLine() == "editor approved ")
    #expect(try await window.nextLine() == "closed")
    #expect(window.waitForEnd() == 0)
    #expect(try await editor.nextLine() == "window.willClose")
    #expect(try await editor.nextLine() == "window.didClose")

    try await connection.post("window.end", object: "window/1")
    var names: [String?] = []
    for _ in 0..<3 { names.append(try await seen.nextName()) }
    #expect(names == ["window.willClose", "window.didClose", "window.end"])
    for name in ["window.willClose", "window.didClose", "window.end"] {
      #expect(try watcher.output.line()?.contains(#""name":"\#(name)""#) == true)
    }
  }

  @Test("the chain keeps nobody alive: neither an object that is dropped nor a process that is killed")
  func notRetained() async throws {
    let window = try await openWindow()
    var news = try await connection.observe("tribune.delegate.didDetach", object: "window/1")
      .makeAsyncIterator()
    let killed = try bus.staying(
      "delegate", "window.shouldClose", "--object=window/1", "--veto=no", "--label=killed")
    try await connection.attachAndDrop(label: "dropped", vetoing: "no")
    try window.type("delegates")
    #expect(try await window.nextLine() == "delegates: killed dropped")

    killed.signal(SIGKILL)
    #expect(try await news.nextName() == "tribune.delegate.didDetach")
    try window.type("close")
    #expect(try await window.nextLine() == "dropped abstained ")
    #expect(try await window.nextLine() == "closed")
    #expect(try await news.nextName() == "tribune.delegate.didDetach")
    #expect(try await connection.delegates().isEmpty)
  }

  @Test("each that responds is asked, and only those; whether anyone does can be known before")
  func responding() async throws {
    let window = try await openWindow()
    let (closing, moving, all) = (
      AttentiveDelegate(vetoing: "busy"), AttentiveDelegate(), AttentiveDelegate(vetoing: "so am I")
    )
    try await connection.attach(
      closing, to: "window/1", respondingTo: ["window.shouldClose"], label: "closing")
    try await connection.attach(moving, to: "window/1", respondingTo: ["window.shouldMove"], label: "moving")
    try await connection.attach(all, to: "window/1", respondingTo: ["window.**"], label: "all")
    for (name, who) in [
      ("window.shouldClose", "closing all"), ("window.shouldMove", "moving all"),
      ("menu.shouldOpen", "nobody"),
    ] {
      try window.type("responds \(name)")
      #expect(try await window.nextLine() == "\(name): \(who)")
    }
    let explained = try bus.tribunectl("explain", "menu.shouldOpen", "--object=window/1")
    #expect(explained.output.hasPrefix("Nobody would be asked"), "\(explained.output)")

    try window.type("close")
    #expect(try await window.nextLine() == "closing vetoed busy")
    #expect(try await window.nextLine() == "all vetoed so am I")
    #expect(try await window.nextLine() == "stays open")
    #expect(await closing.all == ["window.shouldClose"])
    #expect(await moving.all.isEmpty)
    #expect(await all.all == ["window.shouldClose"])
  }

  @Test("a browser takes its rows from its delegate, and has none without one")
  func browser() async throws {
    let empty = try ExamplePrograms.start("browser", on: bus)
    #expect(try await empty.nextLine() == "nobody has rows for browser/1")
    #expect(empty.waitForEnd() == 1)

    let shelf = try ExamplePrograms.start("shelf", "Orlando", "\"The Waves\"", on: bus)
    try await shelf.read(to: "has rows for browser/1")
    let browser = try ExamplePrograms.start("browser", on: bus)
    #expect(try await browser.nextLine() == "0: Orlando")
    #expect(try await browser.nextLine() == "1: \"The Waves\"")
    #expect(browser.waitForEnd() == 0)
  }
}

extension Connection {
  /// Attaches a delegate of a window that nobody else keeps.
  fileprivate func attachAndDrop(label: String, vetoing reason: String) async throws {
    let delegate = AttentiveDelegate(vetoing: reason)
    try await attach(delegate, to: "window/1", respondingTo: ["window.shouldClose"], label: label)
  }
}
