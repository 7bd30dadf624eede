// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport
import TribuneWire

/// Others write clients from docs/PROTOCOL.md. So it and its examples in docs/CONVERSATION.md must match the code.
@Suite("docs/PROTOCOL.md") struct ProtocolDocumentTests {
  @Test("has each frame of its conversation as the code writes it", arguments: Conversation.frames)
  func example(_ example: Conversation.Example) throws {
    let document = try ProtocolDocument()
    let shown = try #require(document.examples[example.name], "there is no example \"\(example.name)\"")
    #expect(shown.hex == example.bytes.hex)
  }

  @Test("has no frame that these tests do not compare")
  func noOtherExamples() throws {
    let document = try ProtocolDocument()
    #expect(Set(document.examples.keys) == Set(Conversation.frames.map(\.name)))
  }

  @Test("has a frame of each kind", arguments: FrameKind.allCases)
  func everyKind(_ kind: FrameKind) throws {
    let shown = Conversation.frames.contains { $0.name != "hello" && $0.bytes[4] == kind.rawValue }
    #expect(shown)
  }

  @Test("lists each kind with its number", arguments: FrameKind.allCases)
  func listsKind(_ kind: FrameKind) throws {
    let document = try ProtocolDocument()
    #expect(document.text.contains("\n| \(kind.rawValue) | `\(kind)` |"))
    #expect(document.text.contains("\n### \(kind) (\(kind.rawValue))\n"))
  }

  @Test("lists each error with its number, on the right side of 64", arguments: ErrorCode.allCases)
  func listsError(_ code: ErrorCode) throws {
    let document = try ProtocolDocument()
    #expect(document.text.contains("\n| \(code.rawValue) | `\(code)` |"))
    #expect(code.closesConnection == (code.rawValue < 64))
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
    let document = try ProtocolDocument()
    #expect(document.text.contains("\n| \(what) | \(limit.grouped)"))
  }
}

/// The document, and the frames of its conversation: blocks of ```` ```hex NAME ````, with comments after `#`.
private struct ProtocolDocument {
  let text: String
  private(set) var examples: [String: [UInt8]] = [:]

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    text = try String(contentsOf: root.appending(path: "../docs/PROTOCOL.md"), encoding: .utf8)
    let conversation = try String(
      contentsOf: root.appending(path: "../docs/CONVERSATION.md"), encoding: .utf8)
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

/// The frames of the conversation as the code writes them.
enum Conversation {
  struct Example: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    init(_ name: String, _ write: (ByteBuffer) -> Void) {
      self.name = name
      let buffer = ByteBuffer(capacity: 0)
      write(buffer)
      bytes = buffer.array
    }

    var testDescription: String { name }
  }

  private static let editor = DelegateIdentity(
    id: DelegateID(rawValue: 31), label: "editor",
    peer: PeerIdentity(pid: 4710, uid: 1000, gid: 1000, process: "editor", unit: ""))
  private static let asker = PeerIdentity(
    pid: 4711, uid: 1000, gid: 1000, process: "wm", unit: "session-2.scope")
  private static let query = QueryID(rawValue: 12)
  private static let client = ConnectionID(rawValue: 7)

  static let frames = asking + holding + values + keeping + restarting + watching

  private static let asking: [Example] = [
    Example("hello") { Hello().append(to: $0) },
    Example("welcome") {
      let welcome = Welcome(
        connection: client, payloadMax: 16 << 20, observationsMax: 4096, delegatesMax: 4096, queriesMax: 1024,
        deadlineMax: 3_600_000, deadlineDefault: 30_000, busPID: 4242, software: "0.1.0")
      $0.appendFrame(welcome, serial: 0)
    },
    Example("observe") { $0.appendFrame(Observe(), serial: 1, name: "window.*") },
    Example("ok") { $0.appendFrame(Okay(registration: 1), serial: 1) },
    Example("post") {
      $0.appendFrame(
        Post(), flags: .acknowledge, serial: 2, name: "window.didClose", object: "window/42",
        text: "{\"by\":\"user\"}")
    },
    Example("post-received") {
      $0.appendFrame(
        Post(), flags: .acknowledge, sender: client, serial: 2, name: "window.didClose", object: "window/42",
        text: "{\"by\":\"user\"}")
    },
    Example("attach") {
      let attach = Attach(label: "editor", patterns: ["window.shouldClose"])
      $0.appendFrame(attach, serial: 3, object: "window/42")
    },
    Example("ok-attached") { $0.appendFrame(Okay(registration: 3, delegate: 31), serial: 3) },
    Example("ask") {
      let ask = Ask(deadline: 10_000, mode: .all)
      $0.appendFrame(ask, serial: 1, name: "window.shouldClose", object: "window/42")
    },
    Example("question") {
      $0.appendFrame(
        Question(query: query, delegate: editor.id, timeout: 5000, asker: asker),
        sender: ConnectionID(rawValue: 8), serial: 3, name: "window.shouldClose", object: "window/42")
    },
    Example("defer") {
      let later = Defer(query: query, delegate: editor.id, extension: 60_000)
      $0.appendFrame(later, serial: 4, text: "asking the user")
    },
    Example("progress") {
      let progress = Progress(query: query, delegate: editor, timeout: 9000)
      $0.appendFrame(progress, serial: 1, text: "asking the user")
    },
    Example("answer") {
      let answer = Answer(query: query, delegate: editor.id, answer: .veto)
      $0.appendFrame(answer, serial: 5, text: "unsaved changes")
    },
    Example("verdict") {
      let outcome = Outcome(
        delegate: editor, outcome: .vetoed, reason: "unsaved changes", elapsed: 6_250_000)
      $0.appendFrame(
        Verdict(query: query, verdict: .vetoed, isUnanswered: false, outcomes: [outcome]), serial: 1)
    },
    Example("concluded") {
      $0.appendFrame(Concluded(query: query, delegate: editor.id, conclusion: .vetoed), serial: 3)
    },
    Example("lost") { $0.appendFrame(Lost(count: 3), serial: 0) },
    Example("error") {
      $0.appendFrame(Refusal(.invalidName), serial: 6, text: "\"window..close\" is no name")
    },
    Example("cancel") { $0.appendFrame(Cancel(target: 1), serial: 7) },
    Example("list") {
      $0.appendFrame(List(.chain), serial: 8, name: "window.shouldClose", object: "window/42")
    },
    Example("entry") {
      let entry = DelegateEntry(
        connection: client, delegate: editor, object: "window/42", order: 0, failurePolicy: .veto,
        timeout: 5000, patterns: ["window.shouldClose"])
      $0.appendFrame(Entry.delegate(entry), serial: 8)
    },
  ]

  private static let holding: [Example] = [
    Example("hold") {
      $0.appendFrame(
        Hold(expiry: 9_000_000_000_000), serial: 1, name: "unit.shouldRestart", text: "backing up")
    },
    Example("ok-held") { $0.appendFrame(Okay(registration: 1, delegate: 32), serial: 1) },
    Example("ask-held") { $0.appendFrame(Ask(), serial: 2, name: "unit.shouldRestart", object: "unit/db") },
    Example("verdict-held") {
      let backup = PeerIdentity(pid: 4820, uid: 0, gid: 0, process: "backup", unit: "backup.service")
      let hold = DelegateIdentity(id: DelegateID(rawValue: 32), label: "", peer: backup)
      let outcome = Outcome(delegate: hold, outcome: .held, reason: "backing up", elapsed: 0)
      $0.appendFrame(
        Verdict(
          query: QueryID(rawValue: 13), verdict: .vetoed, isUnanswered: false, outcomes: [outcome]),
        serial: 2)
    },
    Example("ended") { $0.appendFrame(Ended.expired, serial: 1) },
  ]

  private static let rows = DelegateIdentity(
    id: DelegateID(rawValue: 33), label: editor.label, peer: editor.peer)
  private static let valueQuery = QueryID(rawValue: 14)

  private static let values: [Example] = [
    Example("declare") {
      let definitions = """
        protocol Timeline {
          optional value timeline.page (page: int) -> (rows: []string)
        }

        """
      $0.appendFrame(Declare(protocolName: "Timeline"), serial: 3, object: "view/1", text: definitions)
    },
    Example("ask-value") {
      $0.appendFrame(
        Ask(mode: .first), serial: 4, name: "timeline.page", object: "view/1", text: #"{"page":2}"#)
    },
    Example("question-value") {
      $0.appendFrame(
        Question(query: valueQuery, delegate: rows.id, timeout: 5000, asker: asker, wantsValue: true),
        sender: ConnectionID(rawValue: 8), serial: 4, name: "timeline.page", object: "view/1",
        text: #"{"page":2}"#)
    },
    Example("answer-value") {
      let answer = Answer(query: valueQuery, delegate: rows.id, answer: .value)
      $0.appendFrame(answer, serial: 8, text: #"{"rows":["a"]}"#)
    },
    Example("verdict-value") {
      let outcome = Outcome(
        delegate: rows, outcome: .answered, reason: "", elapsed: 2000, value: Array(#"{"rows":["a"]}"#.utf8))
      $0.appendFrame(
        Verdict(query: valueQuery, verdict: .allowed, isUnanswered: false, outcomes: [outcome]), serial: 4)
    },
  ]

  private static let disk = ConnectionID(rawValue: 9)

  private static let keeping: [Example] = [
    Example("post-kept") {
      $0.appendFrame(
        Post(options: .retain), serial: 2, name: "disk.usage", object: "disk/1", text: #"{"used":91}"#)
    },
    Example("observe-kept") {
      $0.appendFrame(Observe(options: [.retained, .awaited]), serial: 1, name: "disk.*")
    },
    Example("retained") {
      $0.appendFrame(
        Retained(age: 3_000_000), sender: disk, serial: 1, name: "disk.usage", object: "disk/1",
        text: #"{"used":91}"#)
    },
    Example("suspend") { $0.appendFrame(Suspend(isSuspended: true), serial: 2) },
    Example("post-awaited") {
      $0.appendFrame(
        Post(options: .awaited, deadline: 10_000), serial: 3, name: "disk.willUnmount", object: "disk/1")
    },
    Example("done") { $0.appendFrame(Done(poster: disk, post: 3), serial: 3) },
    Example("awaited") {
      let shell = PeerIdentity(pid: 4830, uid: 1000, gid: 1000, process: "bash", unit: "")
      let missing = Awaited.Missing(
        connection: ConnectionID(rawValue: 11), peer: shell, failure: .timedOut, reason: "",
        elapsed: 10_000_000)
      $0.appendFrame(Awaited(acknowledged: 1, missing: [missing]), serial: 3)
    },
  ]

  private static let restarting: [Example] = [
    Example("restarted") {
      $0.appendFrame(Refusal(.restarted), serial: 0, text: "a frame was under way")
    },
    Example("succeed") {
      $0.appendFrame(Succeed(predecessor: ConnectionID(rawValue: 10), received: 2), serial: 4)
    },
    Example("lost-restarted") { $0.appendFrame(Lost(count: 1), serial: 0) },
  ]

  private static let watching: [Example] = [
    Example("monitor") { $0.appendFrame(Monitor(), serial: 1, name: "window.**") },
    Example("traffic") {
      let passed = ByteBuffer(capacity: 64)
      passed.appendFrame(Post(), sender: client, serial: 9, name: "window.didClose")
      let traffic = Traffic(time: 1_767_225_600_000_000, from: client, to: .bus, receivers: 2)
      $0.appendFrame(traffic, serial: 0, payload: passed.bytes)
    },
  ]
}

extension Int {
  /// With a comma every three digits.
  fileprivate var grouped: String {
    let digits = String(self)
    return String(
      digits.enumerated().flatMap { place, digit in
        place > 0 && (digits.count - place) % 3 == 0 ? [",", digit] : [digit]
      })
  }
}
