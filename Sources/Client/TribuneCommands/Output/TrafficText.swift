// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

extension TrafficItem {
  /// The line `time  :from → :to  kind  name  object  content  userInfo`.
  func line(in context: Context) -> String {
    let parts = [
      context.styled(timeOfDay(microsecondsSince1970: time), .faint),
      "\(from ?? "bus") → \(destination)", context.styled(kind.terminalSafe, .bold), name.terminalSafe,
      object.terminalSafe, content.description, payloadIsText ? "" : userInfo.line,
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// True if the content already shows the payload, which is a reason or a status.
  private var payloadIsText: Bool {
    switch content {
    case .answer, .deferral, .progress, .refusal: true
    default: false
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
    case .post(let wishes): wishes.isEmpty ? [] : [("wishes", .array(wishes.map { .string($0) }))]
    case .refusal(let code, let message): [("code", .string(code)), ("message", .string(message))]
    case .loss(let count): [("count", .integer(count))]
    case .other(let words): words.isEmpty ? [] : [("says", .string(words))]
    case .ask(let mode, let deadline, let fallback, let parent, let override, let isDryRun):
      [
        ("mode", .string(mode.rawValue)), ("deadline", deadline.map { .seconds($0) } ?? .null),
        ("default", .string(fallback.rawValue)), ("parent", parent.map { .unsigned($0) } ?? .null),
        ("override", override.map { .string($0) } ?? .null), ("dryRun", .bool(isDryRun)),
      ]
    case .query(let collectsAll, let deadline, let parent):
      [
        ("mode", .string(collectsAll ? "collect" : "first")),
        ("deadline", deadline.map { .seconds($0) } ?? .null),
        ("parent", parent.map { .unsigned($0) } ?? .null),
      ]
    case .question(let query, let delegate, let timeout, let asker, let isDryRun, let wantsValue):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("timeout", .seconds(timeout)),
        ("asker", asker.json), ("dryRun", .bool(isDryRun)), ("wantsValue", .bool(wantsValue)),
      ]
    case .answer(let query, let delegate, let answer):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("answer", .string(answer.word)),
        ("reason", .string(answer.reason)),
      ] + (answer.value.map { [$0.jsonMember(named: "value")] } ?? [])
    case .deferral(let query, let delegate, let time, let status):
      [
        ("query", .unsigned(query)), ("delegate", .unsigned(delegate)), ("extension", .seconds(time)),
        ("status", .string(status)),
      ]
    case .progress(let progress):
      [
        ("query", .unsigned(progress.query)), ("delegate", .unsigned(progress.delegate)),
        ("label", .string(progress.label)), ("stage", .string(progress.stage.word)),
        ("timeout", .seconds(progress.timeout)), ("status", .string(progress.status)),
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
    case .value: "answered"
    }
  }

  var reason: String {
    switch self {
    case .approve, .abstain, .value: ""
    case .veto(let reason), .failed(let reason): reason
    }
  }

  var value: UserInfo? {
    if case .value(let value) = self { value } else { nil }
  }

  var words: String {
    let said = value?.line ?? reason.terminalSafe
    return said.isEmpty ? word : "\(word): \(said)"
  }
}

extension Progress.Stage {
  var word: String {
    switch self {
    case .asked: "asked"
    case .deferred: "deferred"
    case .settled(let kind): kind.rawValue
    }
  }
}

extension Asker {
  var json: JSONValue {
    .object([("connection", .string(connection))] + units.members(ofProcess: pid, uid, process))
  }
}
