// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport
import TribuneWire

/// Other clients are written from docs/PROTOCOL.md, so it and docs/CONVERSATION.md must match the code.
@Suite("docs/PROTOCOL.md") struct ProtocolDocumentTests {
  @Test("has each frame of its conversation as the code writes it", arguments: Conversation.frames)
  func example(_ example: FrameVector) throws {
    let document = try ProtocolDocument()
    let shown = try #require(document.examples[example.file], "there is no example \"\(example.file)\"")
    #expect(shown.hex == example.encoded().hex)
  }

  @Test("has the hello as the code writes it, and no frame that these tests do not compare")
  func noOtherExamples() throws {
    let document = try ProtocolDocument()
    let hello = ByteBuffer { Hello().append(to: $0) }
    #expect(document.examples["hello"] == hello.array)
    #expect(Set(document.examples.keys) == Set(Conversation.frames.map(\.file)).union(["hello"]))
  }

  @Test("quotes the bus's own message about an invalid name")
  func message() throws {
    let frame = try #require(Conversation.frames.first { $0.file == "error" })
    let error = #expect(throws: WireError.self) { try "window..close".utf8Bytes.requireName() }
    #expect(error.map { Array($0.message.utf8) } == frame.payload)
  }

  @Test("has a frame of each kind")
  func everyKind() { #expect(Set(Conversation.frames.map(\.kind)) == Set(FrameKind.allCases)) }

  @Test("explains each kind, under its number", arguments: FrameKind.allCases)
  func explainsKind(_ kind: FrameKind) throws {
    #expect(try ProtocolDocument().text.contains("\n### \(kind) (\(kind.rawValue))\n"))
  }

  @Test(
    "states the limits",
    arguments: [
      ("name, pattern", WireLimits.nameLength), ("object", WireLimits.objectLength),
      ("label", WireLimits.labelLength), ("fields of a frame to the bus", WireLimits.fieldsLength),
      ("name of a protocol", WireLimits.protocolNameLength),
      ("reason of an override", WireLimits.reasonLength),
      ("patterns in one `attach`", WireLimits.patternsPerDelegate),
      ("protocols in one `attach`", WireLimits.protocolsPerDelegate),
    ])
  func limit(_ what: String, _ limit: Int) throws {
    #expect(try ProtocolDocument.text(of: "LIMITS").contains("\n| \(what) | \(limit.grouped)"))
  }
}

/// Frames are in blocks of ```` ```hex NAME ````, with comments after `#`.
private struct ProtocolDocument {
  let text: String
  private(set) var examples: [String: [UInt8]] = [:]

  static func text(of document: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "../../docs/\(document).md"), encoding: .utf8)
  }

  init() throws {
    text = try Self.text(of: "PROTOCOL")
    let conversation = try Self.text(of: "CONVERSATION")
    var name: String?
    for line in conversation.split(separator: "\n") {
      if line.hasPrefix("```") {
        name = line.hasPrefix("```hex ") ? String(line.dropFirst(7)) : nil
        if let name { examples[name] = [] }
      } else if let name {
        examples[name, default: []] += try Vector.bytes(of: line, in: name)
      }
    }
  }
}

enum Conversation {
  private static let editor = DelegateIdentity(
    id: DelegateID(rawValue: 31), label: "editor",
    peer: PeerIdentity(pid: 4710, uid: 1000, gid: 1000, process: "editor", units: PeerUnits(system: "")))
  private static let asker = PeerIdentity(
    pid: 4711, uid: 1000, gid: 1000, process: "wm", units: PeerUnits(system: "session-2.scope"))
  private static let query = QueryID(rawValue: 12)
  private static let client = ConnectionID(rawValue: 7)

  static let frames = asking + holding + values + keeping + restarting + watching

  private static let asking: [FrameVector] = [
    FrameVector(
      "welcome",
      Welcome(
        connection: client, payloadMax: 16 << 20, observationsMax: 4096, delegatesMax: 4096, queriesMax: 1024,
        deadlineMax: 3_600_000, deadlineDefault: 30_000, busPID: 4242, software: "0.9.0"), serial: 0),
    FrameVector("observe", Observe(), serial: 1, name: "window.*"),
    FrameVector("ok", Okay(registration: 1), serial: 1),
    FrameVector(
      "post", Post(), flags: .acknowledge, serial: 2, name: "window.didClose", object: "window/42",
      text: #"{"by":"user"}"#),
    FrameVector(
      "post-received", Post(), flags: .acknowledge, sender: 7, serial: 2, name: "window.didClose",
      object: "window/42", text: #"{"by":"user"}"#),
    FrameVector("poster", PosterFacts(connection: client, slot: 3, peer: editor.peer), serial: 0),
    FrameVector(
      "attach", Attach(label: "editor", patterns: ["window.shouldClose"]), serial: 3, object: "window/42"),
    FrameVector("ok-attached", Okay(registration: 3, delegate: 31), serial: 3),
    FrameVector(
      "ask", Ask(deadline: 10_000, mode: .all), serial: 1, name: "window.shouldClose", object: "window/42"),
    FrameVector(
      "question", Question(query: query, delegate: editor.id, timeout: 5000, asker: asker), sender: 8,
      serial: 3, name: "window.shouldClose", object: "window/42"),
    FrameVector(
      "defer", Defer(query: query, delegate: editor.id, extension: 60_000), serial: 4, text: "asking the user"
    ),
    FrameVector(
      "progress", TribuneWire.Progress(query: query, delegate: editor, timeout: 9000), serial: 1,
      text: "asking the user"),
    FrameVector(
      "answer", Answer(query: query, delegate: editor.id, answer: .veto), serial: 5, text: "unsaved changes"),
    FrameVector(
      "verdict",
      Verdict(
        query: query, verdict: .vetoed, isUnanswered: false,
        outcomes: [
          Outcome(delegate: editor, outcome: .vetoed, reason: "unsaved changes", elapsed: 6_250_000)
        ]), serial: 1),
    FrameVector("concluded", Concluded(query: query, delegate: editor.id, conclusion: .vetoed), serial: 3),
    FrameVector("lost", Lost(count: 3), serial: 0),
    FrameVector("error", Refusal(.invalidName), serial: 6, text: #""window..close" is not a valid name"#),
    FrameVector("cancel", Cancel(target: 1), serial: 7),
    FrameVector("list", List(.chain), serial: 8, name: "window.shouldClose", object: "window/42"),
    FrameVector(
      "entry",
      Entry.delegate(
        DelegateEntry(
          connection: client, delegate: editor, object: "window/42", order: 0, failurePolicy: .veto,
          timeout: 5000, patterns: ["window.shouldClose"])), serial: 8),
  ]

  private static let backup = DelegateIdentity(
    id: DelegateID(rawValue: 32), label: "",
    peer: PeerIdentity(
      pid: 4820, uid: 0, gid: 0, process: "backup", units: PeerUnits(system: "backup.service")))

  private static let holding: [FrameVector] = [
    FrameVector(
      "hold", Hold(expiry: 9_000_000_000_000), serial: 1, name: "unit.shouldRestart", text: "backing up"),
    FrameVector("ok-held", Okay(registration: 1, delegate: 32), serial: 1),
    FrameVector("ask-held", Ask(), serial: 2, name: "unit.shouldRestart", object: "unit/db"),
    FrameVector(
      "verdict-held",
      Verdict(
        query: QueryID(rawValue: 13), verdict: .vetoed, isUnanswered: false,
        outcomes: [Outcome(delegate: backup, outcome: .held, reason: "backing up", elapsed: 0)]), serial: 2),
    FrameVector("amend", Amend(target: 1), serial: 2, text: "at 40 %"),
    FrameVector("ended", Ended.expired, serial: 1),
  ]

  private static let rows = DelegateIdentity(
    id: DelegateID(rawValue: 33), label: editor.label, peer: editor.peer)
  private static let valueQuery = QueryID(rawValue: 14)

  private static let values: [FrameVector] = [
    FrameVector(
      "declare", Declare(protocolName: "Timeline"), serial: 3, object: "view/1",
      text: """
        protocol Timeline {
          optional value timeline.page (page: int) -> (rows: []string)
        }

        """),
    FrameVector(
      "ask-value", Ask(mode: .first), serial: 4, name: "timeline.page", object: "view/1",
      text: #"{"page":2}"#),
    FrameVector(
      "question-value",
      Question(query: valueQuery, delegate: rows.id, timeout: 5000, asker: asker, wantsValue: true),
      sender: 8, serial: 4, name: "timeline.page", object: "view/1", text: #"{"page":2}"#),
    FrameVector(
      "answer-value", Answer(query: valueQuery, delegate: rows.id, answer: .value), serial: 8,
      text: #"{"rows":["a"]}"#),
    FrameVector(
      "verdict-value",
      Verdict(
        query: valueQuery, verdict: .allowed, isUnanswered: false,
        outcomes: [
          Outcome(
            delegate: rows, outcome: .answered, reason: "", elapsed: 2000,
            value: Array(#"{"rows":["a"]}"#.utf8))
        ]), serial: 4),
  ]

  private static let disk = ConnectionID(rawValue: 9)
  private static let shell = PeerIdentity(
    pid: 4830, uid: 1000, gid: 1000, process: "bash", units: PeerUnits(system: ""))

  private static let keeping: [FrameVector] = [
    FrameVector(
      "post-kept", Post(options: .retain), serial: 2, name: "disk.usage", object: "disk/1",
      text: #"{"used":91}"#),
    FrameVector("observe-kept", Observe(options: [.retained, .awaited]), serial: 1, name: "disk.*"),
    FrameVector(
      "retained", Retained(age: 3_000_000), sender: 9, serial: 1, name: "disk.usage", object: "disk/1",
      text: #"{"used":91}"#),
    FrameVector("suspend", Suspend(isSuspended: true), serial: 2),
    FrameVector(
      "post-awaited", Post(options: .awaited, deadline: 10_000), serial: 3, name: "disk.willUnmount",
      object: "disk/1"),
    FrameVector("done", Done(poster: disk, post: 3), serial: 3),
    FrameVector(
      "awaited",
      Awaited(
        acknowledged: 1,
        missing: [
          MissingObserver(
            connection: ConnectionID(rawValue: 11), peer: shell, failure: .timedOut, reason: "",
            elapsed: 10_000_000)
        ]), serial: 3),
  ]

  private static let restarting: [FrameVector] = [
    FrameVector(
      "restarted", Refusal(.restarted), serial: 0, text: "the bus was restarted while a frame was under way"),
    FrameVector("succeed", Succeed(predecessor: ConnectionID(rawValue: 10), received: 2), serial: 4),
    FrameVector("lost-restarted", Lost(count: 1), serial: 0),
  ]

  private static let watching: [FrameVector] = [
    FrameVector("monitor", Monitor(), serial: 1, name: "window.**"),
    FrameVector(
      "traffic", Traffic(time: 1_767_225_600_000_000, from: client, to: .bus, receivers: 2), serial: 0,
      payload: FrameVector("", Post(), sender: 7, serial: 9, name: "window.didClose").encoded()),
  ]
}

extension Int {
  fileprivate var grouped: String {
    let digits = String(self)
    return String(
      digits.enumerated().flatMap { place, digit in
        place > 0 && (digits.count - place) % 3 == 0 ? [",", digit] : [digit]
      })
  }
}
