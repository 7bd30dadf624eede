// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune

/// A window that asks all delegates in its chain before it closes.
///
/// The window neither knows nor starts its delegates. If one vetoes because it must save, the window stays open, and
/// asks again after the save.
///
///     window [OBJECT]     window/1 by default
///
/// Type `close`; `delegates` to list the chain; or `responds NAME` to list the delegates that respond to a
/// name.
///
/// Try it: `editor notes.txt 'my notes'` in another terminal, then `close`. To watch: `tribunectl observe
/// 'window.*' --object=window/1`
actor Window {
  private let bus: Connection
  private let name: String
  /// True after a vetoed close.
  private var wantsToClose = false

  init(_ name: String, on bus: Connection) {
    self.name = name
    self.bus = bus
  }

  func perform(_ words: [Substring]) async throws {
    switch (words.first, words.count) {
    case ("close", 1): try await close()
    case ("delegates", 1):
      let chain = try await bus.delegates().filter { $0.object == name }
      print("delegates: \(chain.map(\.label).joined(separator: " "))")
    case ("responds", 2):
      let who = try await bus.explain(String(words[1]), object: name).delegates
      print("\(words[1]): \(who.isEmpty ? "nobody" : who.map(\.label).joined(separator: " "))")
    default: print("close, delegates or responds NAME")
    }
  }

  private func close() async throws {
    let verdict = try await bus.ask("window.shouldClose", object: name, mode: .all)
    for outcome in verdict.outcomes {
      print("\(outcome.label) \(outcome.kind) \(outcome.reason)")
    }
    wantsToClose = !verdict.isAllowed
    if wantsToClose {
      print("stays open")
      return
    }
    try await bus.post("window.willClose", object: name)
    print("closed")
    try await bus.post("window.didClose", object: name)
    await bus.close()
    exit(0)
  }

  /// Asks again after each save, if a delegate has vetoed closing.
  func reconsider(after saves: Notifications) async {
    do {
      for try await _ in saves where wantsToClose { try await close() }
    } catch {
      print(error)
      exit(1)
    }
  }
}

@main
struct Main {
  // The main actor's thread may block in `readLine`, because the window runs on other threads.
  @MainActor static func main() async {
    do {
      let bus = try await Connection.connect()
      let name = CommandLine.arguments.dropFirst().first ?? "window/1"
      let window = Window(name, on: bus)
      let saves = try await bus.observe("document.didSave")
      print("\(name) is open")
      Task.detached { await window.reconsider(after: saves) }
      while let line = readLine() { try await window.perform(line.split(separator: " ")) }
    } catch {
      print(error)
      exit(1)
    }
  }
}
