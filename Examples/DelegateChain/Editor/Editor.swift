// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tribune

/// Edits a text in a window, and lets the window close once the text is saved.
///
///     editor FILE TEXT [OBJECT]     in window/1 unless another is given
///
/// Asked whether the window should close, it says no as long as there is something to save. When that has kept
/// the window open, it saves, and says so to whoever observes it: not to the window, which it does not know.
///
/// Try it: `window` beside it, and type `close` there.
actor Editor: Delegate {
  private let bus: Connection
  private let file: String
  private let text: String
  private var isSaved = false
  private var dryRuns: Set<UInt64> = []

  init(_ text: String, in file: String, on bus: Connection) {
    self.text = text
    self.file = file
    self.bus = bus
  }

  func answer(_ question: Question) -> Answer {
    if question.isDryRun { dryRuns.insert(question.query) }
    return isSaved ? .approve : .veto("\(file) has changes that are not saved")
  }

  func concluded(_ conclusion: Conclusion) async {
    let isDryRun = dryRuns.remove(conclusion.query) != nil
    guard conclusion.ending == .vetoed, !isDryRun, !isSaved else { return }
    do {
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      isSaved = true
      print("saved \(file)")
      try await bus.post("document.didSave", object: "document/\(file)")
    } catch {
      print("cannot save \(file): \(error)")
    }
  }

  /// What a delegate is told about its object: it responds to these names too.
  func received(_ delivery: Delivery) {
    if case .notification(let notification) = delivery { print(notification.name) }
  }
}

@main
struct Main {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 || arguments.count == 4 else {
      print("usage: editor FILE TEXT [OBJECT]")
      exit(2)
    }
    do {
      let bus = try await Connection.connect()
      let window = arguments.count == 4 ? arguments[3] : "window/1"
      // The chain does not retain its delegates: this reference keeps the editor.
      let editor = Editor(arguments[2], in: arguments[1], on: bus)
      try await bus.attach(
        editor, to: window, respondingTo: ["window.shouldClose", "window.willClose", "window.didClose"],
        label: "editor")
      print("edits \(arguments[1]) in \(window)")
      if let error = await bus.closed() { throw error }
    } catch {
      print(error)
      exit(1)
    }
  }
}
