// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@Suite("The shells' completions", .serialized) struct CompletionTests {
  private let folder: TestFolder

  init() async throws {
    folder = try TestFolder()
    try await folder.make("install")
    for file in ["file-one", "file two", "folder/inside"] { try folder.write("", to: "here/\(file)") }
  }

  private static let lines: [(line: String, completed: [String])] = [
    ("po", ["policy", "post"]),
    ("hol", ["hold", "holds"]),
    ("list --re", ["list", "--retained", "--reconnect="]),
    ("--json=", ["--json=off", "--json=pretty", "--json=short"]),
    ("--json p", ["--json", "pretty"]),
    ("ask --mode=", ["ask", "--mode=all", "--mode=order", "--mode=parallel"]),
    ("ask a.b --default ", ["ask", "a.b", "--default", "allow", "veto"]),
    ("ask --d", ["ask", "--dry-run", "--default="]),
    ("completion z", ["completion", "zsh"]),
    ("--timeout 5 obs", ["--timeout", "5", "observe"]),
    ("--address=unix:/a tre", ["--address=unix:/a", "tree"]),
    ("--object", ["--object"]),
    ("post --coalesce=name,", ["post", "--coalesce=name,object"]),
    ("help lo", ["help", "log"]),
    ("policy ", ["policy", "explain"]),
    ("policy explain o", ["policy", "explain", "observe", "override"]),
    ("policy explain --as ann po", ["policy", "explain", "--as", "ann", "post"]),
    ("policy explain post a", ["policy", "explain", "post", "a"]),
    ("guard --timeo", ["guard", "--timeout="]),
    ("verify file-", ["verify", "file-one"]),
    ("verify file-one file-", ["verify", "file-one", "file-one"]),
    ("declare --definitions=file-", ["declare", "--definitions=file-one"]),
    ("delegate --directory=f", ["delegate", "--directory=folder/"]),
    ("hold a --why=b -- basenam", ["hold", "a", "--why=b", "--", "basename"]),
    ("guard a -- basenam", ["guard", "a", "--", "basename"]),
    ("guard a -- ls file-", ["guard", "a", "--", "ls", "file-one"]),
    ("observe a --exec basenam", ["observe", "a", "--exec", "basename"]),
    ("observe a --exec ls file-", ["observe", "a", "--exec", "ls", "file-one"]),
    ("post --wait a.b {}", ["post", "--wait", "a.b", "{}"]),
  ]

  private static let liveLines: [(line: String, completed: [String])] = [
    ("get pow", ["get", "power.level", "power.source"]),
    ("get power.source bat", ["get", "power.source", "battery/1"]),
    ("get power.source ", ["get", "power.source", "battery/1"]),
    ("observe a.b power.s", ["observe", "a.b", "power.source"]),
    ("post --object=bat", ["post", "--object=battery/1"]),
    ("post --object bat", ["post", "--object", "battery/1"]),
    ("post power.source 1", ["post", "power.source", "1"]),
    ("policy explain post power.s", ["policy", "explain", "post", "power.source"]),
    ("introspect bat", ["introspect", "battery/1"]),
    ("ask host.shouldRe", ["ask", "host.shouldReboot"]),
    ("hold backup.", ["hold", "backup.shouldPrune"]),
    ("guard host.ke", ["guard", "host.kexec"]),
    ("hold --action=host.ke", ["hold", "--action=host.kexec"]),
    (
      "--address=unix:/nonexistent ask host.shouldRe",
      ["--address=unix:/nonexistent", "ask", "host.shouldReboot"]
    ),
    ("--address=unix:/nonexistent get pow", ["--address=unix:/nonexistent", "get", "pow"]),
  ]

  private func busWithWords() throws -> TestBus {
    let bus = try TestBus()
    // tribunectl refuses a quote as an object.
    let poster = try RawClient.greeted(bus)
    for (name, object) in [
      ("power.source", "battery/1"), ("power.level", ""), ("power.level", "$(touch made)"),
      ("power.level", "`touch made`"),
      ("power.level", "bat;touch made"), ("power.level", "bat tery"), ("power.level", "--help"),
      ("power.level", "'"),
    ] {
      try poster.sendConfirmed(Post(options: .retain), serial: 1, name: name, object: object, text: "1")
    }
    return bus
  }

  private func environment(of bus: TestBus?) throws -> [String: String] {
    guard let bus else { return ["TRIBUNE_ADDRESS": "unix:/nonexistent"] }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return ["TRIBUNE_ADDRESS": bus.address, "PATH": "\(folder.path)/root/usr/bin:\(path)"]
  }

  private static let stub = "tribunectl() { printf '<%s>' \"$@\"; printf '\\n'; }"

  private func plain(_ words: [String]) -> [String] {
    words.map { $0.hasSuffix("=") || $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
  }

  private func words(in text: String) -> [String] {
    text.matches(of: /<([^>]*)>/).map { String($0.1) }
  }

  @Test("bash completes commands and options", arguments: ["", "/usr/share/bash-completion/bash_completion"])
  func bash(library: String) throws {
    for (line, completed) in Self.lines {
      #expect(plain(try bash(typing: line, library: library)) == plain(readlineWords(completed)), "\(line)")
    }
  }

  /// For readline, a value after = is another word: only the first has the option before it.
  private func readlineWords(_ completed: [String]) -> [String] {
    completed.enumerated().map { place, word in
      guard place > 0, let equals = word.firstIndex(of: "="), equals < word.index(before: word.endIndex),
        completed[place - 1].hasPrefix(word[...equals])
      else { return word }
      return String(word[word.index(after: equals)...])
    }
  }

  @Test("bash offers an option once, even if a verb has its own summary of it")
  func bashOffersOnce() throws {
    let script = """
      source \(folder.path)/root/usr/share/bash-completion/completions/tribunectl
      COMP_WORDS=(tribunectl guard --timeo) COMP_CWORD=2 COMP_LINE='tribunectl guard --timeo' COMP_POINT=24
      _tribunectl 2>/dev/null
      printf '<%s>' "${COMPREPLY[@]}"
      """
    #expect(words(in: try FinishedProgram(["bash", "-c", script]).output) == ["--timeout="])
  }

  @Test("bash completes names from the bus, and executes none of them")
  func bashLive() throws {
    let bus = try busWithWords()
    for (line, completed) in Self.liveLines {
      #expect(try bash(typing: line, library: "", bus: bus) == readlineWords(completed), "\(line)")
    }
    #expect(!folder.contains("here/made"))
  }

  @Test("bash executes nothing from the line")
  func bashRunsNothing() throws {
    _ = try bash(typing: "--object=$(touch made) --json -$(touch made) \u{15}--", library: "")
    #expect(!folder.contains("here/made"))
  }

  private func bash(typing line: String, library: String, bus: TestBus? = nil) throws -> [String] {
    let setUp = """
      cd \(folder.path)/here
      \(library.isEmpty ? "" : "source \(library)")
      source \(folder.path)/root/usr/share/bash-completion/completions/tribunectl
      bind '"\\C-t": insert-completions'
      \(Self.stub)

      """
    try folder.write(setUp + "tribunectl \(line)\u{14}\n", to: "typed")
    // -i reads the lines with readline, as at a terminal. A new session keeps it off this one's terminal.
    let bash = try FinishedProgram(
      ["sh", "-c", "exec setsid --wait bash --norc --noprofile -i <\"$0\"", "\(folder.path)/typed"],
      environment: ["INPUTRC": "/dev/null", "TERM": "dumb", "HISTFILE": ""].merging(
        try environment(of: bus)
      ) { $1 })
    return words(in: bash.output)
  }

  @Test("fish completes commands and options")
  func fish() throws {
    for (line, completed) in Self.lines { try expectFish(typing: line, completed) }
  }

  @Test("fish completes names from the bus")
  func fishLive() throws {
    let bus = try busWithWords()
    for (line, completed) in Self.liveLines { try expectFish(typing: line, completed, bus: bus) }
  }

  private func expectFish(typing line: String, _ completed: [String], bus: TestBus? = nil) throws {
    let fish = try FinishedProgram(
      [
        "sh", "-c",
        "cd \"$1\" && exec fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \"$2\" \"$3\"",
        "sh", "\(folder.path)/here",
        "\(folder.path)/root/usr/share/fish/vendor_completions.d/tribunectl.fish", "tribunectl \(line)",
      ], environment: ["HOME": folder.path].merging(try environment(of: bus)) { $1 })
    // fish prints candidates for the last word only, each with a tab and a description.
    let offers = fish.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    let typed = line.split(separator: " ", omittingEmptySubsequences: false)
    let expected = Array(completed.dropFirst(typed.count - 1))
    #expect(fish.errors == "", "\(line)")
    if expected == typed.suffix(1).map(String.init) {
      #expect(offers.isEmpty, "\(line)")
    } else {
      #expect(plain(offers).sorted() == plain(expected).sorted(), "\(line)")
    }
  }

  @Test("zsh completes commands and options")
  func zsh() throws { try expectZsh(offering: Self.lines) }

  @Test("zsh completes names from the bus, and executes none of them")
  func zshLive() throws {
    try expectZsh(offering: Self.liveLines, bus: try busWithWords())
    #expect(!folder.contains("here/made"))
  }

  private func expectZsh(offering lines: [(line: String, completed: [String])], bus: TestBus? = nil) throws {
    try folder.write(
      """
      PS1= PS2=; unsetopt zle_bracketed_paste prompt_cr prompt_sp
      fpath=(\(folder.path)/root/usr/share/zsh/site-functions $fpath)
      autoload -Uz compinit; compinit -u -D
      insert-all() { _main_complete; compstate[insert]=all }
      zle -C insert-all complete-word insert-all
      bindkey '^T' insert-all
      cd \(folder.path)/here
      \(Self.stub)
      print ready

      """, to: ".zshrc")
    // Without job control, which needs a controlling terminal.
    let session = try TerminalSession(
      ["/usr/bin/env", "zsh", "-i", "+m"],
      environment: ["ZDOTDIR": folder.path, "TERM": "dumb"].merging(try environment(of: bus)) { $1 })
    try session.read(to: "ready\r\n")
    for (line, completed) in lines {
      try session.type("tribunectl \(line)\u{14}\n")
      try session.read(to: "<")
      #expect(plain(words(in: "<" + (try session.read(to: ">\r\n")))) == plain(completed), "\(line)")
    }
  }
}
