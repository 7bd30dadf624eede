// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune

/// A delegate that answers some names itself, and forwards the others to its own delegates.
///
///     forwarder [OBJECT [PLACE]]     a delegate of window/1; its own delegates attach to forwarder/1
///
/// As with `responds(to:)` of a forwarding delegate in Cocoa, the forwarder responds only to the names that it or one
/// of its own delegates answers. The bus posts which delegates join and leave the chain of PLACE, so the forwarder
/// knows its own delegates. Each name has a separate attachment: if one is detached, the others stay in the window's
/// chain.
///
/// Try it: `tribunectl delegate window.shouldZoom --object=forwarder/1 --veto='not now'`, and then
/// `tribunectl ask window.shouldZoom --object=window/1`
actor Forwarder: Delegate {
  /// The names that the forwarder answers itself, even if delegates of PLACE respond to them.
  static let own = ["window.shouldMove"]

  private let bus: Connection
  private let object: String
  private let place: String
  private var attachments: [String: Attachment] = [:]

  init(of object: String, at place: String, on bus: Connection) {
    self.object = object
    self.place = place
    self.bus = bus
  }

  /// Attaches for the names that are answered now, and detaches for all others.
  func update() async throws {
    // A notification only causes an update. The list of delegates decides.
    let outer = try await bus.delegates().filter { $0.object == place }
    let union = Set(Self.own + outer.flatMap(\.patterns))
    for name in union.subtracting(attachments.keys).sorted() {
      attachments[name] = try await bus.attach(self, to: object, respondingTo: [name], label: "forwarder")
    }
    for (name, attachment) in attachments where !union.contains(name) {
      attachments[name] = nil
      try await attachment.detach()
    }
    print("responds to \(union.sorted().joined(separator: " "))")
  }

  func answer(_ question: Question) async throws -> Answer {
    if Self.own.contains(question.name) { return .veto("the forwarder keeps windows where they are") }
    if question.wantsValue {
      let reply = try await bus.query(
        question.name, object: place, userInfo: question.userInfo, parent: question.query)
      return reply.value.map { .value($0) } ?? .abstain
    }
    // If a delegate of PLACE defers, the closure defers the question of the window.
    let verdict = try await bus.ask(
      question.name, object: place, userInfo: question.userInfo, isDryRun: question.isDryRun,
      parent: question.query
    ) { step in
      guard step.stage == .deferred else { return }
      Task { await Self.pass(on: step, to: question) }
    }
    if verdict.isUnanswered { return .abstain }
    if verdict.isAllowed { return .approve }
    let reasons = verdict.outcomes.map { $0.reason.isEmpty ? $0.kind.rawValue : $0.reason }
    return .veto(reasons.joined(separator: "; "))
  }

  private static func pass(on step: Progress, to question: Question) async {
    do {
      try await question.deferAnswer(by: step.timeout, status: step.status)
    } catch {
      print("cannot defer \(question.name): \(error)")
    }
  }

  func received(_ delivery: Delivery) async {
    guard case .notification(let notification) = delivery else { return }
    do {
      try await bus.post(notification.name, object: place, userInfo: notification.userInfo)
    } catch {
      print("cannot forward \(notification.name): \(error)")
    }
  }
}

@main
struct Main {
  static func main() async {
    let arguments = CommandLine.arguments
    let place = arguments.count > 2 ? arguments[2] : "forwarder/1"
    do {
      let bus = try await Connection.connect()
      let forwarder = Forwarder(of: arguments.count > 1 ? arguments[1] : "window/1", at: place, on: bus)
      let news = try await bus.observe("tribune.delegate.*", object: place)
      try await forwarder.update()
      for try await _ in news { try await forwarder.update() }
    } catch {
      print(error)
      exit(1)
    }
  }
}
