// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune

/// A window that asks everyone in its delegate chain before it closes.
///
/// It knows none of them: delegates come and go, and the window neither keeps nor starts them. When one of them
/// wants to save first, the window stays open, and asks again once something was saved.
///
///     window [OBJECT]     a window called window/1 unless another name is given
///
/// What is typed is what is done with it: `close`; `delegates` lists the chain; `responds NAME` says who, if
/// anyone, responds to a name.
///
/// Try it: `editor notes.txt 'my notes'` beside it, then `close`. Who only wants to watch:
/// `tribunectl observe 'window.*' --object=window/1`
actor Window {
  private let bus: Connection
  private let name: String
  /// Closing was wanted, and vetoed.
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

  /// Should, will, did.
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

  /// Asks again when something was saved, which may have been what it waited for.
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
  // On the main actor, whose thread may wait for what is typed: the window has others.
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
