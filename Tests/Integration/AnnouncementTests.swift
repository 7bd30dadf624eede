// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// docs/ANNOUNCEMENTS.md lists the members.
@Suite("The bus's own announcements", .timeLimit(.minutes(15)))
struct AnnouncementTests {
  private let bus: TestBus
  private let observer: RawClient
  private let client: RawClient
  private let who: String

  init() throws {
    bus = try TestBus()
    observer = try RawClient.observing("tribune.**", on: bus)
    let (client, welcome) = try RawClient.welcomed(bus)
    self.client = client
    who = try Self.who(welcome.connection)
    try expect("connection.didConnect", "\(who)}")
  }

  private static func who(_ connection: ConnectionID) throws -> String {
    let peer = try ThisProcess.identity
    let (unit, userUnit) = (peer.units.system, peer.units.user.replacing("\\", with: "\\\\"))
    return #""connection":"\#(connection)","pid":\#(peer.pid),"uid":\#(peer.uid),"#
      + #""process":"\#(peer.process)","unit":"\#(unit)","systemUnit":"\#(unit)","userUnit":"\#(userUnit)""#
  }

  /// 0 replaces each time.
  private func expect(_ name: String, object: String = "", _ members: String) throws {
    let frame = try observer.next(.post)
    #expect(frame.header.sender == .bus)
    #expect((frame.name, frame.object) == ("tribune.\(name)", object))
    #expect(frame.payload.replacing(/"elapsed":[0-9.e-]+/, with: "\"elapsed\":0") == "{\(members)")
  }

  @Test("observers learn who connects and disconnects, and why the bus closed a connection")
  func connections() throws {
    try client.send([UInt8](repeating: 0, count: 32))
    try expect("connection.didDisconnect", "\(who),\"reason\":\"malformedFrame\"}")
    try RawClient(bus).send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    let other = try Self.who(RawClient.welcomed(bus).welcome.connection)
    for name in ["connection.didConnect", "connection.didDisconnect"] { try expect(name, "\(other)}") }
  }

  @Test("observers learn of each delegate that joins or leaves an object's chain")
  func delegates() throws {
    let attach = Attach(label: "\"it\"\u{9B}", patterns: ["window.*", "a.b"])
    let id = try client.attach(attach, object: "window/1", serial: 1).rawValue
    let connection = try #require(who.split(separator: ",").first)
    let members = #""delegate":\#(id),"label":"\"it\"\u009b",\#(connection),"respondsTo":["window.*","a.b"]}"#
    try expect("delegate.didAttach", object: "window/1", members)
    try client.sendConfirmed(Cancel(target: 1), serial: 2)
    try expect("delegate.didDetach", object: "window/1", members)
  }

  @Test("observers learn of each hold and its end, and of each query's end, with who and why")
  func holdsAndQueries() throws {
    try client.send(Hold(label: "archive"), serial: 1, name: "a.*", object: "o", text: "not \"now\"")
    let id = try client.next(.ok).decode(Okay.self).delegate
    let before = #""hold":\#(id),"label":"archive","pattern":"a.*","why":"not \"now\"",\#(who)"#
    try expect("hold.didTake", object: "o", "\(before)}")
    try client.sendConfirmed(Amend(target: 1), serial: 4, text: "soon")
    let hold = before.replacing(#"not \"now\""#, with: "soon")
    try expect("hold.didChange", object: "o", "\(hold)}")
    let query = try client.ask("a.shouldB", object: "o", serial: 2).query.rawValue
    try expect(
      "query.didConclude", object: "o",
      #""query":\#(query),"name":"a.shouldB","verdict":"vetoed","mode":"parallel","asker":{\#(who)},"#
        + #""vetoCount":1,"elapsed":0}"#)
    try client.sendConfirmed(Cancel(target: 1), serial: 3)
    try expect("hold.didRelease", object: "o", "\(hold),\"expired\":false}")
  }

  @Test("observers learn of a reload that puts a configuration into force, not of one that fails")
  func reloading() throws {
    try bus.reload("[Bus]\nLogMax=nothing\n")
    try bus.reload("")
    try expect("bus.didReload", "}")
    try client.leave()
    try expect("connection.didDisconnect", "\(who)}")
  }

  @Test("observers learn that the next bus has read its configuration", arguments: RestartedBus.Way.allCases)
  func restarting(way: RestartedBus.Way) throws {
    let restarted = try RestartedBus()
    let observer = try RawClient.observing("tribune.bus.didReload", on: restarted)
    try restarted.restart(way)
    #expect(try observer.next(.post).name == "tribune.bus.didReload")
  }

  @Test("observers learn who overrode vetoes, why, and which vetoes")
  func overriding() throws {
    let ask = Ask(flags: .overrides, overrideReason: "I \"must\"")
    try client.ask("a.shouldB", object: "o", ask, serial: 1)
    try expect(
      "query.didConclude", object: "o",
      #""query":1,"name":"a.shouldB","verdict":"allowed","mode":"parallel","asker":{\#(who)},"vetoCount":0,"elapsed":0}"#
    )
    try client.attach(Attach(label: "no", patterns: ["a.shouldB"]), object: "o", serial: 2)
    let connection = who.prefix { $0 != "," }
    try expect(
      "delegate.didAttach", object: "o",
      #""delegate":1,"label":"no",\#(connection),"respondsTo":["a.shouldB"]}"#)
    // A dry run overrides no veto, and is not announced.
    let rehearsal = Ask(flags: [.overrides, .isDryRun], overrideReason: "may I?")
    for (ask, serial) in [(rehearsal, 3), (ask, 4)] as [(Ask, Serial)] {
      try client.send(ask, serial: serial, name: "a.shouldB", object: "o")
      try client.answer(client.nextQuestion().question, .veto, "not \"now\"")
      #expect(try client.nextVerdict().isOverridden)
    }
    try expect(
      "query.didOverride", object: "o",
      #""query":3,"name":"a.shouldB","reason":"I \"must\"","asker":{\#(who)},"vetoes":[{"delegate":1,"#
        + #""label":"no","outcome":"vetoed","reason":"not \"now\""\#(who.dropFirst(connection.count)),"elapsed":0}]}"#
    )
    try expect(
      "query.didConclude", object: "o",
      #""query":3,"name":"a.shouldB","verdict":"allowed","mode":"parallel","asker":{\#(who)},"vetoCount":1,"elapsed":0}"#
    )
  }
}
