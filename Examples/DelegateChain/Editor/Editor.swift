// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tribune

/// Edits a text in a window, and vetoes closing until it is saved.
///
///     editor FILE TEXT [OBJECT]     window/1 by default
///
/// After its veto, the editor saves the text, and posts `document.didSave`. It does not know that the window observes
/// this name.
///
/// Try it: `window` in another terminal, and type `close` there.
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

  /// Receives the will- and did-notifications to whose names this delegate responds.
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
      // The chain does not retain its delegates; this reference does.
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
