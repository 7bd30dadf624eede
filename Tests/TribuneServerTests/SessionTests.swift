// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("The states of a session", .timeLimit(.minutes(15)))
@MainActor
struct SessionTests {
  private static let error = WireError(.tooSlow, "it does not read")
  private static let states: [Session.State] = [
    .awaitingHello, .open, .ending(isGreeted: true), .closing, .closed,
  ]

  private static func name(_ state: Session.State) -> String {
    "\(state)".prefix { $0 != "(" }.description
  }

  @Test(
    "become those that their comments say, and no other",
    arguments: [
      ("awaitingHello", ["open", "ending", "closing", "closed"]), ("open", ["ending", "closing", "closed"]),
      ("ending", ["closing", "closed"]), ("closing", ["closed"]), ("closed", []),
    ])
  func transitions(from name: String, to successors: [String]) throws {
    let state = try #require(Self.states.first { Self.name($0) == name })
    #expect(Self.states.filter { state.mayBecome($0) }.map(Self.name) == successors)
  }

  @Test("a session walks each transition, and is served in the first two only")
  func walk() throws {
    for first in Self.states {
      for next in Self.states where first.mayBecome(next) {
        let session = try Self.session(first)
        session.state = next
        #expect(Self.name(session.state) == Self.name(next))
        let isServed = ["awaitingHello", "open"].contains(Self.name(next))
        #expect(session.isServed == isServed && session.output.isServed == isServed)
      }
    }
  }

  @Test("a session that is closed is never anything else")
  func final() async {
    await #expect(processExitsWith: .failure) {
      try await MainActor.run {
        let session = try Self.session(.closed)
        session.state = .open
      }
    }
  }

  @Test("who is to be dismissed is welcomed as before, and served no more")
  func ending() throws {
    let sessions = SessionTable()
    let session = try Self.session(.open)
    sessions.insert(session)
    sessions.closeLater(session, Self.error)
    sessions.closeLater(session, Self.error)
    #expect(sessions.ending.value.count == 1)
    #expect(session.isGreeted && !session.isOpen && !session.output.accepts)
  }

  @Test(
    "what nobody can be sent waits, and is watched for as long as the kernel says when it can go",
    arguments: [
      (Output.Writing.open, true, false, false), (.full, true, true, true), (.fullOfFiles, true, true, false),
      (.closed, false, false, false),
    ])
  func writing(_ writing: Output.Writing, accepts: Bool, isBlocked: Bool, isWatched: Bool) throws {
    let session = try Self.session(.open)
    session.output.writing = writing
    #expect(session.output.accepts == accepts && session.output.isBlocked == isBlocked)
    #expect(session.interest == (isWatched ? [.readable, .writable] : .readable))
  }

  private static func session(_ state: Session.State) throws -> Session {
    Session(
      id: ConnectionID(rawValue: 7), slot: ConnectionSlot(index: 0),
      descriptor: try UnixSocket.make(nonblocking: true), cookie: 1,
      peer: PeerIdentity(pid: 1, uid: 0, gid: 0, process: "", unit: ""),
      connected: Instant(nanoseconds: 0), limits: .fromBus, state: state)
  }
}
