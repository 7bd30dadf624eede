// SPDX-License-Identifier: Apache-2.0

import Tribune

extension TrafficItem {
  /// `time  :from → :to  kind  name  object  what it says  userInfo`, for people.
  func line(in context: Context) -> String {
    let parts = [
      context.styled(timeOfDay(microsecondsSince1970: time), .faint),
      "\(from ?? "bus") → \(destination)", context.styled(kind.terminalSafe, .bold), name.terminalSafe,
      object.terminalSafe, detail, payloadIsText ? "" : userInfo.line,
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  private var destination: String {
    if let to { return to }
    return kind == "post" ? receivers.counted("observer") : "bus"
  }

  /// The payload is a reason or a status, which `detail` has already.
  private var payloadIsText: Bool {
    switch content {
    case .answer, .deferral, .progress: true
    default: false
    }
  }

  private var detail: String {
    switch content {
    case .post, .other: ""
    case .ask(let mode, let deadline, let fallback, let parent):
      [
        mode == .parallel ? nil : "mode \(mode.rawValue)", deadline.map { "within \($0.inWords)" },
        fallback == .vetoed ? "vetoed by default" : nil, parent.map { "under query \($0)" },
      ].compactMap { $0 }.joined(separator: ", ")
    case .question(let query, let delegate, let timeout, _):
      "query \(query) to delegate \(delegate), within \(timeout.inWords)"
    case .answer(let query, let delegate, let answer):
      "query \(query) by delegate \(delegate): \(answer.words)"
    case .deferral(let query, let delegate, let time, let status):
      "query \(query) by delegate \(delegate): \(time.inWords) more\(status.isEmpty ? "" : ": \(status.terminalSafe)")"
    case .progress(let progress):
      "query \(progress.query) waits for delegate \(progress.delegate)"
        + (progress.status.isEmpty ? "" : ": \(progress.status.terminalSafe)")
    case .verdict(let verdict):
      "query \(verdict.query): \(verdict.decision.rawValue)"
        + verdict.outcomes.map { outcome in
          let reason = outcome.reason.isEmpty ? "" : ": \(outcome.reason.terminalSafe)"
          return "; \(outcome.kind.rawValue) by \(outcome.who)\(reason)"
        }.joined()
    case .concluded(let conclusion, let delegate):
      "query \(conclusion.query) for delegate \(delegate): \(conclusion.ending.rawValue)"
    }
  }

  var json: JSONValue {
    var members: [(name: String, value: JSONValue)] = [
      ("time", .unsigned(time)), ("from", from.map { .string($0) } ?? .null),
      ("to", to.map { .string($0) } ?? .null), ("receivers", .integer(receivers)), ("kind", .string(kind)),
      ("serial", .unsigned(serial)), ("name", .string(name)), ("object", .string(object)),
    ]
    if !payloadIsText { members.append(userInfo.jsonMember) }
    members += contentMembers
    return .object(members)
  }

  private var contentMembers: [(name: String, value: JSONValue)] {
    switch content {
    case .post, .other: []
    case .ask(let mode, let deadline, let fallback, let parent):
      [
        ("mode", .string(mode.rawValue)), ("deadline", deadline.map { .seconds($0) } ?? .null),
        ("default", .string(fallback.rawValue)), ("parent", parent.map { .unsigned($0) } ?? .null),
      ]
    case .question(let query, let delegate, let timeout, let asker):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("timeout", .seconds(timeout)),
        ("asker", asker.json),
      ]
    case .answer(let query, let delegate, let answer):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("answer", .string(answer.word)),
        ("reason", .string(answer.reason)),
      ]
    case .deferral(let query, let delegate, let time, let status):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("extension", .seconds(time)),
        ("status", .string(status)),
      ]
    case .progress(let progress):
      [
        ("query", .unsigned(progress.query)), ("delegate", .unsigned(progress.delegate)),
        ("label", .string(progress.label)), ("timeout", .seconds(progress.timeout)),
        ("status", .string(progress.status)),
      ]
    case .verdict(let verdict): verdict.members
    case .concluded(let conclusion, let delegate):
      [
        ("query", .unsigned(conclusion.query)), ("delegate", .unsigned(delegate)),
        ("ending", .string(conclusion.ending.rawValue)),
      ]
    }
  }
}

extension Answer {
  var word: String {
    switch self {
    case .approve: "approved"
    case .veto: "vetoed"
    case .abstain: "abstained"
    case .failed: "failed"
    }
  }

  var reason: String {
    switch self {
    case .approve, .abstain: ""
    case .veto(let reason), .failed(let reason): reason
    }
  }

  var words: String { reason.isEmpty ? word : "\(word): \(reason.terminalSafe)" }
}

extension Asker {
  var json: JSONValue {
    .object([
      ("connection", .string(connection)), ("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))),
      ("process", .string(process)), ("unit", .string(unit)),
    ])
  }
}
