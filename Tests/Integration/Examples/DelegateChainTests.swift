// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import Tribune

@Suite("The delegate chain", .timeLimit(.minutes(15)))
struct DelegateChainTests {
  private let bus: TestBus
  private let connection: Connection

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
  }

  private func openWindow() async throws -> RunningProgram {
    let window = try ExamplePrograms.start("window", on: bus)
    try window.read(to: "window/1 is open")
    return window
  }

  @Test("a delegate with unsaved changes vetoes, saves, is asked again, and the window closes")
  func saving() async throws {
    var seen = try await connection.observe(object: "window/1").makeAsyncIterator()
    let watcher = try bus.staying("-j", "observe", "**", "--object=window/1")
    let window = try await openWindow()
    let file = "\(bus.folder.path)/notes"
    let editor = try ExamplePrograms.start("editor", file, "my notes", on: bus)
    try editor.read(to: "edits \(file) in window/1")

    try window.type("close")
    #expect(try window.nextLine() == "editor vetoed \(file) has changes that are not saved")
    #expect(try window.nextLine() == "stays open")
    #expect(try editor.nextLine() == "saved \(file)")
    #expect(try bus.folder.read("notes") == "my notes")
    #expect(try window.nextLine() == "editor approved ")
    #expect(try window.nextLine() == "closed")
    #expect(window.status() == 0)
    #expect(try editor.nextLine() == "window.willClose")
    #expect(try editor.nextLine() == "window.didClose")

    try await connection.post("window.end", object: "window/1")
    var names: [String?] = []
    for _ in 0..<3 { names.append(try await seen.nextName()) }
    #expect(names == ["window.willClose", "window.didClose", "window.end"])
    for name in ["window.willClose", "window.didClose", "window.end"] {
      #expect(try watcher.output.line()?.contains(#""name":"\#(name)""#) == true)
    }
  }

  @Test("the chain retains no delegate: neither a dropped object nor a killed process")
  func notRetained() async throws {
    let window = try await openWindow()
    var news = try await connection.observe("tribune.delegate.didDetach", object: "window/1")
      .makeAsyncIterator()
    let killed = try bus.staying(
      "delegate", "window.shouldClose", "--object=window/1", "--veto=no", "--label=killed")
    try await connection.attachAndDrop(label: "dropped", vetoing: "no")
    try window.type("delegates")
    #expect(try window.nextLine() == "delegates: killed dropped")

    killed.signal(SIGKILL)
    #expect(try await news.nextName() == "tribune.delegate.didDetach")
    try window.type("close")
    #expect(try window.nextLine() == "dropped abstained ")
    #expect(try window.nextLine() == "closed")
    #expect(try await news.nextName() == "tribune.delegate.didDetach")
    #expect(try await connection.delegates().isEmpty)
  }

  @Test("the bus asks exactly the delegates that respond, and lists them in advance")
  func responding() async throws {
    let window = try await openWindow()
    let (closing, moving, all) = (
      AttentiveDelegate(vetoing: "busy"), AttentiveDelegate(), AttentiveDelegate(vetoing: "so am I")
    )
    try await connection.attach(
      closing, to: "window/1", respondingTo: ["window.shouldClose"], label: "closing")
    try await connection.attach(moving, to: "window/1", respondingTo: ["window.shouldMove"], label: "moving")
    try await connection.attach(all, to: "window/1", respondingTo: ["window.**"], label: "all")
    for (name, labels) in [
      ("window.shouldClose", "closing all"), ("window.shouldMove", "moving all"),
      ("menu.shouldOpen", "nobody"),
    ] {
      try window.type("responds \(name)")
      #expect(try window.nextLine() == "\(name): \(labels)")
    }
    let explained = try bus.tribunectl("explain", "menu.shouldOpen", "--object=window/1")
    #expect(explained.output.hasPrefix("No delegate would be asked"), "\(explained.output)")

    try window.type("close")
    #expect(try window.nextLine() == "closing vetoed busy")
    #expect(try window.nextLine() == "all vetoed so am I")
    #expect(try window.nextLine() == "stays open")
    #expect(await closing.all == ["window.shouldClose"])
    #expect(await moving.all.isEmpty)
    #expect(await all.all == ["window.shouldClose"])
  }

  @Test("a browser gets its rows from its delegate, and has none without one")
  func browser() async throws {
    let empty = try ExamplePrograms.start("browser", on: bus)
    #expect(try empty.nextLine() == "nobody has rows for browser/1")
    #expect(empty.status() == 1)

    let shelf = try ExamplePrograms.start("shelf", "Orlando", "\"The Waves\"", on: bus)
    try shelf.read(to: "has rows for browser/1")
    let browser = try ExamplePrograms.start("browser", on: bus)
    #expect(try browser.nextLine() == "0: Orlando")
    #expect(try browser.nextLine() == "1: \"The Waves\"")
    #expect(browser.status() == 0)
  }
}

extension Connection {
  fileprivate func attachAndDrop(label: String, vetoing reason: String) async throws {
    let delegate = AttentiveDelegate(vetoing: reason)
    try await attach(delegate, to: "window/1", respondingTo: ["window.shouldClose"], label: label)
  }
}
