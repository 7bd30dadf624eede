// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCommands

@Suite("Captures", .timeLimit(.minutes(15)))
struct CaptureTests {
  private let bus: TestBus
  private let folder: TestFolder

  init() throws {
    bus = try TestBus()
    folder = try TestFolder()
  }

  private var file: String { "\(folder.path)/capture" }

  private func capture(_ arguments: String...) throws -> RunningProgram {
    let script = "file=$1; shift; exec \"$0\" capture \"$@\" >\"$file\""
    let program = try RunningProgram(
      ["/bin/sh", "-c", script, try Programs.path(of: "tribunectl"), file] + arguments,
      environment: ["TRIBUNE_ADDRESS": bus.address])
    #expect(try program.errors.line()?.hasPrefix("capturing ") == true)
    return program
  }

  @Test("a capture has a post and a vetoed query, with senders, receivers and the verdict")
  func passes() throws {
    let (delegate, _) = try RawClient.welcomed(bus)
    try delegate.attach(Attach(label: "steward", patterns: ["a.shouldB"]), object: "o", serial: 1)
    let capture = try capture("-N", "7", "a.**")
    let (asker, _) = try RawClient.welcomed(bus)
    try asker.send(Post(), serial: 5, flags: .acknowledge, name: "a.b", object: "o/ä", text: "{\"x\":1}")
    try asker.send(Ask(), serial: 6, name: "a.shouldB", object: "o")
    let question = try delegate.nextQuestion().question
    try delegate.answer(question, .veto, "not now")
    _ = try delegate.nextConclusion()
    #expect(capture.status() == 0)

    let rows = try Tshark(
      file,
      fields: [
        "tribune.kind", "tribune.name", "tribune.object", "tribune.serial", "tribune.from", "tribune.to",
        "tribune.receivers", "tribune.payload", "tribune.query", "tribune.verdict", "tribune.outcome.reason",
        "tribune.label",
      ]
    ).rows
    let query = "\(question.query.rawValue)"
    #expect(
      rows == [
        ["4", "a.b", "o/ä", "5", "3", "0", "0", "{\"x\":1}", "", "", "", ""],
        ["3", "", "", "5", "0", "3", "1", "", "", "", "", ""],
        ["8", "a.shouldB", "o", "6", "3", "0", "0", "", "", "", "", ""],
        ["9", "a.shouldB", "o", "1", "3", "1", "1", "", query, "", "", ""],
        ["10", "", "", "0", "1", "0", "0", "not now", query, "", "", ""],
        ["13", "", "", "6", "0", "3", "1", "", query, "1", "not now", "steward"],
        ["14", "", "", "1", "0", "1", "1", "", query, "", "", ""],
      ])
    let columns = try Tshark(
      file, fields: ["_ws.col.Source", "_ws.col.Destination", "_ws.col.Protocol", "_ws.col.Info"],
      filter: "tribune.kind == \"verdict\" or tribune.kind == \"post\"")
    #expect(
      columns.rows == [
        [":3", "bus", "Tribune", "post a.b o/ä {\"x\":1}"],
        ["bus", ":3", "Tribune", "verdict query \(query) vetoed"],
      ])
    #expect(try Tshark(file, fields: ["frame.number"], filter: "tribune.malformed").rows.isEmpty)
  }

  @Test("a capture omits the frames of an excluded connection")
  func excluded() throws {
    let (loud, welcome) = try RawClient.welcomed(bus)
    let capture = try capture("-N", "1", "a.*", "--exclude=\(welcome.connection)")
    try loud.sendConfirmed(Post(), serial: 1, name: "a.b", text: "1")
    try RawClient.greeted(bus).sendConfirmed(Post(), serial: 1, name: "a.b", text: "2")
    #expect(capture.status() == 0)
    #expect(try Tshark(file, fields: ["tribune.payload"]).rows == [["2"]])
  }

  @Test("without a pattern, a capture also has welcomes, registrations and refusals")
  func everything() throws {
    let capture = try capture("-N", "9")
    let client = try RawClient.observing("a.*", object: "o", on: bus)
    try client.attach(Attach(order: -2, label: "x", patterns: ["a.shouldB", "b"]), serial: 2)
    try client.send(Post(), serial: 3, name: "not a name")
    #expect(try client.nextError() == .invalidName)
    try client.sendConfirmed(Cancel(target: 1), serial: 4)
    #expect(capture.status() == 0)
    let rows = try Tshark(
      file, fields: ["tribune.kind", "tribune.serial", "tribune.name", "tribune.patterns", "tribune.code"]
    ).rows
    #expect(
      rows == [
        ["1", "0", "", "", ""], ["6", "1", "a.*", "", ""], ["3", "1", "", "", ""],
        ["7", "2", "", "a.shouldB", ""], ["3", "2", "", "", ""], ["4", "3", "not a name", "", ""],
        ["2", "3", "", "", "65"], ["15", "4", "", "", ""], ["3", "4", "", "", ""],
      ])
  }

  @Test("a file has only the packets, with the bus's times")
  func times() throws {
    let capture = try capture("-N", "1", "a")
    let before = Date().timeIntervalSince1970
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.send(Post(), serial: 5, name: "a")
    #expect(capture.status() == 0)
    let rows = try Tshark(
      file, fields: ["frame.time_epoch", "frame.interface_name", "frame.encap_type", "tribune.from"]
    ).rows
    #expect(rows.map { $0[1...] } == [["tribune", "45", "\(welcome.connection.rawValue)"]])
    let time = try #require(rows.first.flatMap { Double($0[0]) })
    #expect(time >= before - 0.001 && time <= Date().timeIntervalSince1970 + 0.001)
  }

  @Test("a loss is a packet of its own, and no other packet is missing")
  func losses() throws {
    let capture = try capture("load.*")
    capture.signal(SIGSTOP)
    let client = try RawClient.greeted(bus)
    let count = 1000
    let text = String(repeating: "x", count: 10_000)
    for serial in 1...count { try client.send(Post(), serial: Serial(serial), name: "load.unit", text: text) }
    try client.settle()
    capture.signal(SIGCONT)
    bus.stop()
    #expect(capture.status() == 1)
    let rows = try Tshark(file, fields: ["tribune.kind", "tribune.count", "tribune.serial"]).rows
    let lost = rows.compactMap { Int($0[1]) }
    let seen = rows.count { $0[0] == "4" }
    #expect(!lost.isEmpty && lost.reduce(0, +) + seen == count)
    #expect(rows.last == ["4", "", "\(count)"])
  }

  @Test("a capture reports missed packets in the next packet, even with --quiet")
  func interruption() throws {
    let first = try TestBus(folder: folder)
    let readiness = try NotifySocket(path: "\(folder.path)/ready")
    let capture = try RunningProgram(
      [
        "/bin/sh", "-c", "exec \"$0\" --quiet capture -N 2 'a.**' >\"$1\"",
        try Programs.path(of: "tribunectl"), file,
      ],
      environment: ["TRIBUNE_ADDRESS": first.address, "NOTIFY_SOCKET": "\(folder.path)/ready"])
    _ = try readiness.wait(for: "READY=1")
    first.signal(SIGKILL)
    #expect(first.status() == -SIGKILL)
    let next = try TestBus(folder: folder)
    #expect(
      try capture.errors.line()
        == "tribunectl: reconnected to the bus; "
        + "an unknown number of messages was missed and not captured")
    let client = try RawClient.greeted(next)
    for serial in 1...2 as ClosedRange<Serial> { try client.send(Post(), serial: serial, name: "a.b") }
    try client.settle()
    #expect(capture.status() == 0)
    #expect(try capture.errors.rest() == "")
    let rows = try Tshark(file, fields: ["tribune.name", "tribune.serial", "frame.comment"]).rows
    let comment = "The bus was unreachable before this packet; the number of missed messages is unknown"
    #expect(rows == [["a.b", "1", comment], ["a.b", "2", ""]])
  }

  @Test("capture refuses a terminal before it writes anything to it")
  func terminal() throws {
    let terminal = try bus.terminal("capture")
    #expect(terminal.status() == 2)
    let said = try terminal.rest()
    #expect(said.hasPrefix("tribunectl: a capture cannot be shown on a terminal"))
    #expect(!said.contains("\u{0A}\u{0D}\u{0D}\u{0A}"))
  }
}
