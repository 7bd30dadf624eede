// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import Tribune
import TribuneSystem

@Suite("top", .timeLimit(.minutes(15)))
struct TopTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func top(
    _ arguments: String = "", at address: String? = nil, preloading library: PreloadedLibrary? = nil,
    columns: Int = 80, rows: Int = 24
  ) throws -> TmuxTerminal {
    let terminal = try TmuxTerminal(
      environment: [
        "TRIBUNE_ADDRESS": address ?? bus.address, "TRIBUNECTL": try Programs.path(of: "tribunectl"),
        "LIBRARY": library?.path ?? "",
      ], columns: columns, rows: rows)
    try terminal.screen(with: "$")
    try terminal.type("LD_PRELOAD=$LIBRARY $TRIBUNECTL top --delay=100ms \(arguments); echo \"status $?\"")
    try terminal.press("Enter")
    return terminal
  }

  @discardableResult
  private func hang() throws -> RunningProgram {
    try bus.staying("delegate", "backup.shouldPrune", "--approve", "--label=quick")
    try bus.staying("delegate", "backup.shouldPrune", "--approve", "--timeout=1h", "--label=漢字 2").freeze()
    let asker = try bus.start("ask", "backup.shouldPrune", "--mode=all", "--timeout=1h")
    bus.companions.append(asker)
    return asker
  }

  private func pid(in terminal: TmuxTerminal) throws -> pid_t {
    let group = try FinishedProgram(["ps", "-o", "tpgid=", "-p", terminal.state("#{pane_pid}")]).output
    return try #require(pid_t(group.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  /// - Parameter mark: a word that is not on the screen.
  @discardableResult
  private func expectRestored(
    _ terminal: TmuxTerminal, mark: Substring = "shown", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [Substring] {
    #expect(try terminal.state("#{alternate_on} #{cursor_flag}") == "0 1", sourceLocation: sourceLocation)
    try terminal.type("stty -a; echo \(mark)")
    try terminal.press("Enter")
    let lines = try terminal.screen { $0.contains(mark) }
    #expect(lines.contains { $0.hasPrefix("isig icanon iexten echo ") }, sourceLocation: sourceLocation)
    return lines
  }

  @Test("a hung delegate comes first with a mark, and q restores the terminal")
  func hung() throws {
    try hang()
    let terminal = try top()
    let lines = try terminal.screen { lines in lines.contains { $0.hasPrefix("! 漢字 2") } }
    #expect(lines[0].contains("bus \(bus.address)"))
    #expect(lines[4].split(separator: " ").prefix(5) == ["LABEL", "UNIT", "UID", "OPEN", "OLDEST"])
    #expect(lines[5].hasPrefix("! 漢字 2"))
    #expect(lines[6].hasPrefix("  quick"))
    #expect(lines[23].hasPrefix("F1Help"))
    #expect(lines.allSatisfy { $0.count <= 80 })
    try terminal.type("q")
    try terminal.screen(with: "status 0")
    try expectRestored(terminal)
  }

  @Test("the tree shows who waits for whom, and omits the query once it has its verdict")
  func tree() throws {
    let asker = try hang()
    let terminal = try top()
    try terminal.press("F5")
    // A sample can be taken before the quick delegate has answered.
    let lines = try terminal.screen { lines in
      lines.contains { $0.contains("└─ waits for 漢字") } && !lines.contains { $0.contains("quick") }
    }
    let place = try #require(lines.firstIndex { $0.contains("tribunectl asks backup.shouldPrune") })
    #expect(lines[place + 1].contains("└─ waits for 漢字 2 (tribunectl)"))
    asker.end(SIGKILL)
    try terminal.screen(with: "nobody waits for anybody")
  }

  @Test("keys sort, filter and search, and the terminal may change its size")
  func keys() throws {
    for label in ["aa", "bb", "cc"] {
      try bus.staying("delegate", "a.shouldB", "--approve", "--label=\(label)")
    }
    let terminal = try top()
    func labels(_ lines: [Substring]) -> [Substring] {
      lines.compactMap { $0.hasPrefix("  ") ? $0.split(separator: " ").first : nil }.filter { $0.count == 2 }
    }
    try terminal.screen { labels($0) == ["aa", "bb", "cc"] }
    try terminal.press("F6")
    try terminal.screen(with: "Sort by")
    try terminal.press("Up", "Up", "Up", "Up", "Enter")
    try terminal.type("I")
    try terminal.screen { labels($0) == ["cc", "bb", "aa"] }
    try terminal.resize(columns: 40, rows: 10)
    try terminal.screen {
      labels($0) == ["cc", "bb", "aa"] && $0.count == 10 && $0[9].hasPrefix("F1Help F3Search")
        && $0.allSatisfy { $0.count <= 40 }
    }
    try terminal.resize(columns: 80, rows: 24)
    try terminal.press("F4")
    try terminal.type("b")
    try terminal.screen { labels($0) == ["bb"] }
    try terminal.press("Escape")
    try terminal.screen { labels($0) == ["cc", "bb", "aa"] }
    try terminal.press("F1")
    try terminal.screen(with: "Any key goes back.")
    try terminal.press("Space", "F10")
    try terminal.screen(with: "status 0")
  }

  @Test(
    "Ctrl-C and signals end it, and restore the terminal", arguments: [nil, SIGTERM, SIGHUP, SIGQUIT])
  func signals(number: Int32?) throws {
    let terminal = try top()
    try terminal.screen(with: "F1Help")
    if let number { kill(try pid(in: terminal), number) } else { try terminal.press("C-c") }
    try terminal.screen(with: "status 0")
    try expectRestored(terminal)
  }

  @Test("Ctrl-C ends it while it waits for a bus that does not answer")
  func unanswered() throws {
    let folder = try TestFolder()
    let listener = try UnixSocket.listening(at: "\(folder.path)/bus")
    let terminal = try top(at: "unix:\(folder.path)/bus")
    // Before top connects, Ctrl-C has its default effect.
    let connected = try RawClient(acceptedAt: listener)
    try terminal.press("C-c")
    try terminal.screen(with: "status 0")
    withExtendedLifetime(connected) {}
  }

  @Test("each table has its rows, and top sends the bus only list requests")
  func tables() throws {
    try hang()
    let terminal = try top()
    try terminal.screen { lines in lines.contains { $0.hasPrefix("! 漢字") } }
    let monitor = try bus.staying("-j", "monitor")
    for (key, title, row) in [
      ("2", "WHO WAITS FOR WHOM", "tribunectl asks backup.shouldPrune"), ("3", "PROCESS", "tribunectl"),
      ("4", "NAME", "there are none"), ("5", "DELIVERED", "\(getuid())"), ("1", "LABEL", "漢字"),
    ] {
      try terminal.type(key)
      try terminal.screen { lines in
        lines.contains { $0.hasPrefix("  ") && $0.contains(title) } && lines.contains { $0.contains(row) }
      }
    }
    try terminal.type("q")
    try terminal.screen(with: "status 0")
    #expect(try bus.tribunectl("post", "z.didEnd").status == 0)
    var kinds: Set<String> = []
    while let frame = try monitor.output.line().map({ try jsonObject($0) }),
      frame["name"] as? String != "z.didEnd"
    {
      if frame["from"] is String { kinds.insert(try #require(frame["kind"] as? String)) }
    }
    #expect(kinds == ["list"])
  }

  @Test(
    "Ctrl-Z gives the terminal to the shell, and fg takes it back, also if top draws before it sees the signal",
    arguments: [false, true])
  func stops(isLate: Bool) throws {
    let terminal = try top(preloading: isLate ? PreloadedLibrary("LateSignals", in: bus.folder) : nil)
    try terminal.screen(with: "F1Help")
    try terminal.press("C-z")
    try terminal.screen(with: "Stopped")
    try expectRestored(terminal, mark: "stopped")
    try terminal.type("fg")
    try terminal.press("Enter")
    try terminal.screen(with: "F1Help")
    try terminal.type("q")
    try terminal.screen { $0.allSatisfy { !$0.contains("F1Help") } }
    let lines = try expectRestored(terminal, mark: "ended")
    let places = ["stopped", "$ fg", "ended"].map { text in lines.firstIndex { $0.hasPrefix(text) } }
    #expect(!places.contains(nil) && places.compactMap(\.self) == places.compactMap(\.self).sorted())
  }

  @Test("a bus that hangs does not stop the keys, and top finds a killed bus again")
  func busGoes() throws {
    let terminal = try top("--reconnect=100ms")
    try terminal.screen(with: "1 delegates")
    try bus.freeze()
    try terminal.screen(with: "the bus has not answered for")
    try terminal.press("F1")
    try terminal.screen(with: "Any key goes back.")
    try terminal.press("Space")
    bus.signal(SIGCONT)
    try terminal.screen(with: "1 delegates")
    bus.end(SIGKILL)
    try terminal.screen(with: "the bus is gone, trying again")
    let next = try TestBus(folder: bus.folder, log: "next")
    try terminal.screen(with: "1 delegates")
    try terminal.type("q")
    try terminal.screen(with: "status 0")
    next.stop()
  }

  @Test(
    "a terminal that cannot move its cursor gets the table once", arguments: ["dumb", "no-such-terminal"])
  func dumb(type: String) throws {
    try bus.staying("delegate", "a.shouldB", "--approve", "--label=quick")
    let terminal = try bus.terminal(["top"], environment: ["TERM": type])
    let text = try terminal.rest()
    #expect(text.hasPrefix("LABEL"))
    #expect(text.contains("quick"))
    #expect(text.hasSuffix("1 row of delegates listed.\r\n"))
    #expect(!text.contains("\u{1B}"))
    #expect(terminal.status() == 0)
  }

  @Test("without a terminal, it prints the table once", arguments: [["top"], ["top", "--once"]])
  func noTerminal(arguments: [String]) throws {
    try bus.staying("delegate", "a.shouldB", "--approve", "--label=quick")
    let result = try TestBus.tribunectl(arguments, address: bus.address)
    #expect(result.lines.count == 3)
    #expect(result.lines.dropFirst().first?.hasPrefix("quick") == true)
    result.expect(0, errors: "")
  }

  @Test("without a bus, it reports that, and leaves the terminal alone")
  func noBus() throws {
    let path = "\(bus.folder.path)/none"
    let terminal = try bus.terminal(["top"], environment: ["TRIBUNE_ADDRESS": "unix:\(path)"])
    let text = try terminal.rest()
    #expect(text.hasPrefix("tribunectl: "))
    #expect(!text.contains("\u{1B}"))
    #expect(terminal.status() == 1)
  }
}
