// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

@testable import TribuneCommands

@Suite("The JSON output in tribunectl(1)", .timeLimit(.minutes(15)))
struct JSONOutputTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static func entries() throws -> [(term: String, text: String)] {
    let page = try Script.text(of: "docs/man/tribunectl.1.in")
    let section = try #require(page.components(separatedBy: "\n.SH JSON OUTPUT\n").dropFirst().first)
      .components(separatedBy: "\n.SH ")[0]
    return section.components(separatedBy: "\n.TP\n").dropFirst().map { entry in
      let lines = entry.split(separator: "\n")
      let term = String(lines[0]).replacing(/^\.B |\\f[BIR]/, with: "").replacing(#"\-"#, with: "-")
      return (term, lines.dropFirst().filter { !$0.hasPrefix(".") }.joined(separator: " "))
    }
  }

  /// "A process" stands for them in the page.
  private static let processFields = ["pid", "uid", "process", "unit", "systemUnit", "userUnit"]

  private static func fields(of term: String) throws -> Set<String> {
    let entry = try #require(
      try entries().first { $0.term == term }, "tribunectl(1) has no JSON output of \(term)")
    let text = entry.text.replacing(/\([^)]*\)/, with: "")
    let fields = Set(text.matches(of: /\\fI([A-Za-z0-9]+)\\fR/).map { String($0.1) })
    return text.contains("a process") ? fields.union(processFields) : fields
  }

  /// `optional`: listed words whose fields can be missing, or that are not fields.
  private func expect(
    _ object: [String: Any], isListedAs term: String, optional: Set<String> = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let listed = try Self.fields(of: term)
    #expect(Set(object.keys).union(optional) == listed.union(optional), sourceLocation: sourceLocation)
    #expect(optional.isSubset(of: listed), sourceLocation: sourceLocation)
  }

  private func first(_ arguments: [String]) throws -> [String: Any] {
    let output = try TestBus.tribunectl(["-j"] + arguments, address: bus.address).output
    return try jsonObject(try #require(output.split(separator: "\n").first))
  }

  @Test("verbs that list print the fields in the page, and no others")
  func lists() throws {
    try bus.staying("observe", "a.*")
    try bus.staying("delegate", "b.*", "--veto=no")
    try bus.staying("hold", "c.*", "--why=because")
    try bus.folder.write("protocol P {\n  optional did a.didB ()\n}\n", to: "P.protocol")
    try bus.staying("declare", "o", "P", "--definitions=\(bus.folder.path)/P.protocol")
    #expect(try bus.tribunectl("post", "a.b", "1", "--retain").status == 0)
    try bus.folder.write("protocol {", to: "Q.protocol")
    for (term, operands): (String, [String]) in [
      ("status", []), ("list", []), ("list --retained", []), ("holds", []), ("tree", []), ("version", []),
      ("introspect", ["P"]), ("explain", ["b.shouldC"]), ("verify", ["\(bus.folder.path)/Q.protocol"]),
    ] {
      try expect(try first(term.split(separator: " ").map(String.init) + operands), isListedAs: term)
    }
  }

  @Test("lists come sorted, as YAML, with chosen columns, or as a template says")
  func outputs() throws {
    for (name, why) in [("a.*", "one"), ("b.*", "two")] {
      try bus.staying("hold", name, "--why=\(why)", "--label=l")
    }
    func shown(_ options: String...) throws -> String {
      try TestBus.tribunectl(["holds", "--no-legend"] + options, address: bus.address).output
    }
    #expect(try shown("--columns=why,name", "--sort=-name") == "two  b.*\none  a.*\n")
    #expect(try shown("--columns=name", "--sort=why") == "a.*\nb.*\n")
    #expect(try shown("-o", "{name}: {why}") == "a.*: one\nb.*: two\n")
    #expect(try shown("-o", "table", "--columns=name") == "a.*\nb.*\n")
    let asJSON = try shown("-o", "json").split(separator: "\n").map {
      try jsonObject(String($0))["name"] as? String
    }
    #expect(asJSON == ["a.*", "b.*"])
    #expect(try shown("-o", "yaml").contains("\nname: \"a.*\"\n"))
    let unknown = try bus.tribunectl("holds", "--sort=nmae")
    #expect(unknown.status == 2 && unknown.errors.contains("NAME"))
  }

  @Test(
    "status of a connection prints the fields in the page, including its observations, delegates and holds")
  func connection() throws {
    try bus.staying("observe", "a.*")
    try bus.staying("delegate", "b.*", "--veto=no")
    try bus.staying("hold", "c.*", "--why=because")
    let ids = try bus.tribunectl("-j", "list").output.split(separator: "\n")
      .compactMap { try jsonObject($0)["connection"] as? String }
    let statuses = try ids.prefix(3).map { try first(["status", $0]) }
    let listed = try Self.fields(of: "list")
    for status in statuses { #expect(Set(status.keys) == listed) }
    for (kind, term) in [
      ("observations", "each of observations"), ("delegates", "explain"), ("holds", "holds"),
    ] {
      let entries = statuses.compactMap { $0[kind] as? [[String: Any]] }.flatMap { $0 }
      #expect(entries.count == 1)
      try expect(try #require(entries.first), isListedAs: term)
    }
  }

  @Test("log prints the fields in the page, also in its summary")
  func logged() throws {
    let journal = try MadeJournal([(1, MadeJournal.verdict("a.shouldB", vetoedBy: ["a.service"]))])
    try expect(try first(["log", "--directory=\(journal.directory)"]), isListedAs: "log")
    let row = try first(["log", "--summary", "--directory=\(journal.directory)"])
    try expect(row, isListedAs: "log --summary")
    let vetoers = try #require(row["vetoedBy"] as? [[String: Any]])
    try expect(try #require(vetoers.first), isListedAs: "each of vetoedBy")
  }

  @Test("observe and get print the fields in the page")
  func notifications() throws {
    let observer = try bus.staying("-j", "observe", "a.b", "-N1")
    #expect(try bus.tribunectl("post", "a.b", "1", "--retain").status == 0)
    try expect(
      try observer.output.object(), isListedAs: "observe", optional: ["lost", "interrupted", "retained"])
    let got = Set(try first(["get", "a.b"]).keys)
    #expect(
      got == (try Self.fields(of: "observe").union(["age"])).subtracting(["time", "lost", "interrupted"]))
  }

  @Test("top prints the fields in the page", arguments: TopView.allCases)
  func top(view: TopView) throws {
    try bus.staying("delegate", "a.shouldB", "--timeout=1h", "--approve").freeze()
    let monitor = try bus.staying("monitor", "a.shouldB")
    #expect(try bus.tribunectl("ask", "c.shouldD").status == 0)
    bus.companions.append(try bus.start("ask", "a.shouldB", "--timeout=1h"))
    while let line = try monitor.output.line(), !line.contains("question") {}
    let row = try first(["top", "--view=\(view.rawValue)"])
    switch view {
    case .delegates:
      try expect(row, isListedAs: "top")
      #expect(row["open"] as? Int == 1 && row["oldest"] is Double && row["median"] is NSNull)
    case .queries:
      try expect(row, isListedAs: "top --view=queries")
      let participants = try #require(row["participants"] as? [[String: Any]])
      try expect(try #require(participants.first), isListedAs: "each of participants")
      #expect(participants.map { $0["state"] as? String } == ["asked"])
    case .connections: try expect(row, isListedAs: "list")
    case .names, .users: try expect(row, isListedAs: "top --view=\(view.rawValue)")
    }
    if let outcomes = row["outcomes"] as? [String: Any] {
      try expect(outcomes, isListedAs: "the object outcomes")
    }
  }

  @Test("accounts prints the fields in the page")
  func accounts() throws { try expect(try first(["accounts"]), isListedAs: "accounts") }

  @Test("status of a departed connection prints the fields in the page")
  func departed() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.leave()
    try expect(
      try first(["status", welcome.connection.description]),
      isListedAs: "status of a connection that has gone")
  }

  @Test("queries and answers are printed with the fields in the page")
  func asking() throws {
    let delegate = try bus.staying("-j", "delegate", "b.*", "--veto=no")
    let verdict = try first(["ask", "b.shouldC"])
    try expect(verdict, isListedAs: "ask", optional: ["unreachable", "waiting", "similarName"])
    let outcomes = try #require(verdict["outcomes"] as? [[String: Any]])
    try expect(
      try #require(outcomes.first), isListedAs: "each of outcomes", optional: ["value", "valueBase64", "age"])
    let rare: Set<String> = ["value", "label", "dryRun", "userInfoLength", "omitted"]
    try expect(try delegate.output.object(), isListedAs: "delegate", optional: rare)
    let userInfo = "\"" + String(repeating: "x", count: 1_023) + "\""
    _ = try first(["ask", "b.shouldC", userInfo])
    let long = try delegate.output.object()
    #expect(long["userInfoLength"] as? Int == 1_025)
    try expect(
      long, isListedAs: "delegate", optional: rare.symmetricDifference(["userInfoLength", "userInfo"]))
    #expect(Set(try first(["query", "b.value"]).keys) == ["query", "value", "outcomes", "outcomesOmitted"])
    let waiting = try first(["ask", "b.shouldC", "--wait-until-allowed=1ms"])
    try expect(waiting, isListedAs: "ask", optional: ["unreachable", "similarName"])
    let vetoes = try #require(waiting["outcomes"] as? [[String: Any]])
    try expect(
      try #require(vetoes.first), isListedAs: "each of outcomes", optional: ["value", "valueBase64"])
  }

  @Test("a monitor prints the fields in the page for each kind of frame")
  func monitoring() throws {
    let monitor = try bus.staying("-j", "monitor")
    let (delegate, asker) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try delegate.attach(Attach(patterns: ["a.*"]), serial: 1)
    try asker.send(Ask(), serial: 1, name: "a.shouldB", text: "{}")
    let question = try delegate.nextQuestion().question
    try delegate.send(
      Defer(query: question.query, delegate: question.delegate, extension: 20_000), serial: 2, text: "wait")
    _ = try asker.next(.progress)
    try delegate.answer(question, .veto, "no")
    _ = try asker.nextVerdict()
    _ = try delegate.nextConclusion()
    try asker.sendConfirmed(Hold(), serial: 2, name: "b.*", text: "because")
    try asker.send(Post(), serial: 3, name: "not a name")
    _ = try asker.nextError()
    try asker.send(Post(options: .retain), serial: 4, name: "end", text: "1")

    var seen: [String: [String: Any]] = [:]
    while seen["post"]?["name"] as? String != "end" {
      let object = try monitor.output.object()
      seen[try #require(object["kind"] as? String)] = object
    }
    let common = try Self.fields(of: "monitor").subtracting(["lost", "interrupted"])
    let answers = try Self.fields(of: "an answer or a defer")
    let verdict = try Self.fields(of: "ask").subtracting(["unreachable", "waiting", "similarName"])
    let listed: [String: Set<String>] = [
      "post": common.union(try Self.fields(of: "a post")),
      "ask": common.union(try Self.fields(of: "an ask or a query")),
      "question": common.union(try Self.fields(of: "a question")),
      "answer": common.union(answers).subtracting(["userInfo", "extension", "status"]),
      "defer": common.union(answers).subtracting(["userInfo", "answer", "reason"]),
      "progress": common.union(try Self.fields(of: "a progress")).subtracting(["userInfo"]),
      "verdict": common.union(verdict), "concluded": common.union(try Self.fields(of: "a concluded")),
      "error": common.union(try Self.fields(of: "an error")).subtracting(["userInfo"]),
      "hold": common.union(["userInfoBase64"]).subtracting(["userInfo"]), "ok": common.union(["says"]),
    ]
    for (kind, fields) in listed {
      #expect(Set(try #require(seen[kind], "no \(kind) was seen").keys) == fields, "\(kind)")
    }
    #expect(seen["verdict"]?["from"] is NSNull)
  }
}
