// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension TrafficItem {
  /// The receiver, for people: a connection, `bus`, or the number of observers.
  public var destination: String {
    if let to { return to }
    guard kind == "post" else { return "bus" }
    return receivers == 1 ? "1 observer" : "\(receivers) observers"
  }

  /// The sender, receiver, kind and content, on one line without control characters.
  public var description: String {
    let parts = ["\(from ?? "bus") → \(destination)", kind, name, object, content.description]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ").escaped
  }
}

extension TrafficItem.Content {
  /// The content on one line without control characters; empty if the kind of frame is enough.
  public var description: String { text.escaped }

  private var text: String {
    switch self {
    case .post(let wishes): wishes.joined(separator: ", ")
    case .ask(let mode, let deadline, let fallback, let parent, let override, let isDryRun):
      Self.list(
        mode == .parallel ? nil : "mode \(mode.rawValue)", Self.within(deadline),
        fallback == .vetoed ? "vetoed by default" : nil, Self.parent(parent),
        override.map { "overrides vetoes: \($0)" }, isDryRun ? "dry run" : nil)
    case .query(let collectsAll, let deadline, let parent):
      Self.list(collectsAll ? "for all values" : "for a value", Self.within(deadline), Self.parent(parent))
    case .question(let query, let delegate, let timeout, _, let isDryRun, let wantsValue):
      "\(isDryRun ? "dry run of " : "")query \(query) to delegate \(delegate)"
        + "\(wantsValue ? " for a value" : ""), within \(timeout.formatted)"
    case .answer(let query, let delegate, let answer):
      "query \(query) by delegate \(delegate): \(answer.text)"
    case .deferral(let query, let delegate, let time, let status):
      "query \(query) by delegate \(delegate): \(time.formatted) more\(Self.saying(status))"
    case .progress(let progress):
      "query \(progress.query) \(progress.stage.text) delegate \(progress.delegate)\(Self.saying(progress.status))"
    case .verdict(let verdict): verdict.text
    case .concluded(let conclusion, let delegate):
      "query \(conclusion.query) for delegate \(delegate): \(conclusion.ending.rawValue)"
    case .refusal(let code, let message): "\(code)\(Self.saying(message))"
    case .loss(let count): count.counted("notification")
    case .other(let text): text
    }
  }

  private static func list(_ parts: String?...) -> String {
    parts.compactMap { $0 }.joined(separator: ", ")
  }

  private static func within(_ deadline: Duration?) -> String? { deadline.map { "within \($0.formatted)" } }

  private static func parent(_ parent: UInt64?) -> String? { parent.map { "parent query \($0)" } }

  fileprivate static func saying(_ text: String) -> String { text.isEmpty ? "" : ": \(text)" }
}

extension Verdict {
  fileprivate var text: String {
    let notes = [
      isUnanswered ? "unanswered" : nil, isOverridden ? "overridden" : nil, isDryRun ? "dry run" : nil,
    ]
    let outcomes = outcomes.map { outcome in
      let who = outcome.label.isEmpty ? "delegate \(outcome.delegate)" : outcome.label
      return "; \(outcome.kind.rawValue) by \(who)\(TrafficItem.Content.saying(outcome.reason))"
    }
    return "query \(query): "
      + ([decision.rawValue] + notes.compactMap { $0 }).joined(separator: ", ") + outcomes.joined()
      + (omittedCount == 0 ? "" : "; and \(omittedCount) more")
  }
}

extension Progress.Stage {
  fileprivate var text: String {
    switch self {
    case .asked: "asks"
    case .deferred: "waits for"
    case .settled(let kind): "is \(kind.rawValue) by"
    }
  }
}

extension Answer {
  fileprivate var text: String {
    switch self {
    case .approve: "approved"
    case .veto(let reason): "vetoed\(TrafficItem.Content.saying(reason))"
    case .abstain: "abstained"
    case .failed(let error): "failed\(TrafficItem.Content.saying(error))"
    case .value(let value): "answered\(TrafficItem.Content.saying(value.description))"
    }
  }
}

extension Duration {
  /// The duration in the syntax of systemd.time(7).
  package var formatted: String { TimeSpan(self).description }
}
