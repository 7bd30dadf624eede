// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("The states of a session", .timeLimit(.minutes(15)))
@MainActor
struct SessionTests {
  private static let error = WireError(.tooSlow, "it does not read")
  private static let states: [Session.State] = [
    .awaitingHello, .open, .ending(isGreeted: true), .dismissing(isGreeted: true), .closing, .closed,
  ]

  private static func name(_ state: Session.State) -> String {
    "\(state)".prefix { $0 != "(" }.description
  }

  @Test(
    "have the successors that their comments list, and serve a session in the first two only",
    arguments: [
      ("awaitingHello", ["open", "ending", "dismissing", "closed"]),
      ("open", ["ending", "dismissing", "closed"]), ("ending", ["dismissing", "closed"]),
      ("dismissing", ["closing"]), ("closing", ["closed"]), ("closed", []),
    ])
  func transitions(from name: String, to successors: [String]) throws {
    let state = try #require(Self.states.first { Self.name($0) == name })
    #expect(Self.states.filter { state.mayBecome($0) }.map(Self.name) == successors)
    for next in Self.states where state.mayBecome(next) {
      let session = try Self.session(state)
      session.state = next
      #expect(Self.name(session.state) == Self.name(next))
      let isServed = ["awaitingHello", "open"].contains(Self.name(next))
      #expect(session.isServed == isServed)
      #expect(session.output.accepts == (isServed || Self.name(next) == "dismissing"))
    }
  }

  @Test("do not change once a session is closed")
  func final() async {
    await #expect(processExitsWith: .failure) {
      try await MainActor.run {
        let session = try Self.session(.closed)
        session.state = .open
      }
    }
  }

  @Test("include one for a session that will be closed, which stays greeted and takes no more frames")
  func ending() throws {
    let sessions = SessionTable(Accounts())
    let session = try Self.session(.open)
    sessions.insert(session)
    sessions.dismissLater(session, Self.error)
    sessions.dismissLater(session, Self.error)
    #expect(sessions.ending.value.count == 1)
    #expect(session.isGreeted && !session.isOpen && !session.output.accepts)
  }

  private func transitions<State>(_ states: [State], _ mayBecome: (State, State) -> Bool) -> [String] {
    states.map { state in states.map { mayBecome(state, $0) ? "+" : "-" }.joined() }
  }

  @Test("of its output and of its pacing have the successors that their comments list")
  func parts() {
    let writing: [Output.Writing] = [.open, .full, .stalled, .closed]
    #expect(transitions(writing) { $0.mayBecome($1) } == ["-+++", "+-++", "++-+", "----"])
    let flushes: [Output.Flush] = [.none, .deferred, .scheduled]
    #expect(transitions(flushes) { $0.mayBecome($1) } == ["-++", "+-+", "+--"])
    let flows: [Pacing.Flow] = [
      .flowing, .pacing(since: Instant(nanoseconds: 1), isOver: false),
      .pacing(since: Instant(nanoseconds: 1), isOver: true), .lossy(lostBefore: 0, isAnnounced: true),
    ]
    #expect(transitions(flows) { $0.mayBecome($1) } == ["-+++", "+-++", "+-++", "+---"])
  }

  @Test("of its output do not change once nothing can be written")
  func finalOutput() async {
    await #expect(processExitsWith: .failure) {
      try await MainActor.run {
        let session = try Self.session(.open)
        session.output.writing = .closed
        session.output.writing = .open
      }
    }
  }

  @Test(
    "show when output is blocked, and when to wait until the socket is writable",
    arguments: [
      (Output.Writing.open, true, false, false), (.full, true, true, true), (.stalled, true, true, false),
      (.closed, false, false, false),
    ])
  func writing(_ writing: Output.Writing, accepts: Bool, isBlocked: Bool, isWatched: Bool) throws {
    let session = try Self.session(.open)
    if writing != .open { session.output.writing = writing }
    #expect(session.output.accepts == accepts && session.output.isBlocked == isBlocked)
    #expect(session.interest == (isWatched ? [.readable, .writable] : .readable))
  }

  private static func session(_ state: Session.State) throws -> Session {
    Session(
      id: ConnectionID(rawValue: 7), slot: ConnectionSlot(index: 0),
      descriptor: try UnixSocket.make(nonblocking: true), cookie: 1,
      peer: PeerIdentity(pid: 1, uid: 0, gid: 0, process: "", units: PeerUnits(system: "")),
      subject: Subject(user: 0), user: User(Accounts().account(of: 0)), connected: Instant(nanoseconds: 0),
      limits: .fromBus, state: state)
  }
}
