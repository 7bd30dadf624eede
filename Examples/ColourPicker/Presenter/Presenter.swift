// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSONUserInfo
import Tribune

/// Presents a colour picker as its delegate, and dismisses it after the choice.
///
///     presenter NAME     picks a colour for NAME
///
/// Try it: `presenter background`, and type `done 1 0.5 0` or `cancel`.
actor Presenter: Delegate {
  struct Picked: Decodable {
    struct Colour: Decodable {
      var red: Double
      var green: Double
      var blue: Double
    }
    var name: String
    var colour: Colour?
  }

  private let picker = Process()
  private let object = "colourPicker/\(ProcessInfo.processInfo.processIdentifier)"
  private let bus: Connection
  /// Finishes when the picker exits.
  private let dismissal = AsyncStream<Void>.makeStream()

  init(on bus: Connection) { self.bus = bus }

  /// Returns when the picker is dismissed.
  func present(for name: String) async throws {
    let appearances = try await bus.observe("colourPicker.didAppear", object: object)
    let ended = dismissal.continuation
    picker.executableURL = Bundle.main.bundleURL.appending(path: "colour-picker")
    picker.arguments = [object, name]
    picker.terminationHandler = { _ in
      ended.finish()
      Task { await appearances.cancel() }
    }
    try start()
    var appearance = appearances.makeAsyncIterator()
    guard try await appearance.next() != nil else {
      print("\(object) did not appear")
      return
    }
    try await bus.set(
      self, to: object, respondingTo: ["colourPicker.didPick"], label: "presenter",
      conformingTo: ["ColourPickerDelegate"])
    print("presents \(object)")
    for await _ in dismissal.stream {}
    print("dismissed \(object)")
  }

  /// Unblocks all signals, then starts the picker. Dispatch's threads block most signals: the picker would inherit
  /// that, and ignore SIGTERM.
  private func start() throws {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    try picker.run()
  }

  func answer(_ question: Question) -> Answer { .abstain }

  func received(_ delivery: Delivery) {
    guard case .notification(let notification) = delivery else { return }
    do {
      let picked: Picked = try notification.userInfo.decoded()
      if let colour = picked.colour {
        print("\(picked.name) becomes \(colour.red) \(colour.green) \(colour.blue)")
      } else {
        print("\(picked.name) stays as it is")
      }
    } catch {
      print("cannot read what was picked: \(error)")
    }
    picker.terminate()
  }
}

@main
struct Main {
  static func main() async {
    guard let name = CommandLine.arguments.dropFirst().first else {
      print("usage: presenter NAME")
      exit(2)
    }
    do {
      let bus = try await Connection.connect()
      try await Presenter(on: bus).present(for: name)
      await bus.close()
    } catch {
      print(error)
      exit(1)
    }
  }
}
