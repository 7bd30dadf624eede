// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import Tribune

@Suite("Posters of notifications", .timeLimit(.minutes(15)))
struct PosterTests {
  private static func facts(_ id: UInt64, in slot: UInt32, _ pid: UInt32) -> PosterFacts {
    PosterFacts(
      connection: ConnectionID(rawValue: id), slot: slot,
      peer: PeerIdentity(
        pid: pid, uid: 34, gid: 34, process: "restore", units: PeerUnits(system: "restore.service")))
  }

  /// `told` has each poster's id and slot; its pid is its position, from 1.
  @Test(
    "A slot has one poster, the last that the bus introduced",
    arguments: [
      ([(7, 1)], [7: 1]), ([(7, 1), (8, 2)], [7: 1, 8: 2]), ([(7, 1), (8, 1)], [7: nil, 8: 2]),
      ([(7, 1), (7, 1)], [7: 2]),
      ([(7, 1), (7, 0), (8, 1)], [7: 2, 8: 3]), ([(7, 1), (8, 1), (7, 0)], [7: 3, 8: 2]),
      ([(7, 0), (8, 0)], [7: nil, 8: 2]), ([(7, 0), (8, 0), (7, 0)], [7: 3, 8: nil]),
    ] as [([(UInt64, UInt32)], [UInt64: Int32?])])
  func slots(told: [(UInt64, UInt32)], expected: [UInt64: Int32?]) {
    var posters = KnownPosters()
    for (index, (id, slot)) in told.enumerated() {
      posters.learn(Self.facts(id, in: slot, UInt32(index) + 1))
    }
    for (id, pid) in expected { #expect(posters[ConnectionID(rawValue: id)]?.pid == pid, ":\(id)") }
  }

  @Test("The memory has a bound, whatever the bus sends")
  func bound() {
    var posters = KnownPosters()
    for id in 1...10_000 as ClosedRange<UInt64> { posters.learn(Self.facts(id, in: UInt32(id % 16), 1)) }
    #expect(posters.count == 16)
    posters.learn(Self.facts(20_000, in: KnownPosters.slotsMax, 1))
    #expect(posters[ConnectionID(rawValue: 20_000)] == nil && posters.count == 16)
  }

  private static let peer = PosterFacts(
    connection: ConnectionID(rawValue: 9), slot: 1,
    peer: PeerIdentity(
      pid: 4242, uid: 34, gid: 34, process: "restore",
      units: PeerUnits(system: "user@34.service", user: "restore.service")))

  private static let poster = Poster(
    pid: 4242, uid: 34, process: "restore", units: Units(system: "user@34.service", user: "restore.service"))

  @Test("A notification has its poster if the bus introduced one")
  func notifications() async throws {
    try await conversation { peer in
      try peer.confirmObservation()
      try peer.post("a.b")
      try peer.send(Self.peer)
      try peer.post("a.c")
      try peer.post("a.d")
      let observe = try peer.next(.observe)
      try peer.send(
        PosterFacts(
          connection: ConnectionID(rawValue: 8), slot: PosterFacts.departedSlot, peer: .gone(of: 34)))
      try peer.send(
        Retained(age: 1), sender: ConnectionID(rawValue: 8), serial: observe.serial, name: "b.c", text: "1")
      try peer.send(Okay(registration: observe.serial), serial: observe.serial)
    } client: { connection in
      var iterator = try await connection.observe("a.*").makeAsyncIterator()
      #expect(try await iterator.next() == .notification(Notification("a.b", sender: ":9")))
      for name in ["a.c", "a.d"] {
        #expect(
          try await iterator.next()
            == .notification(Notification(name, sender: ":9", poster: Self.poster)))
      }
      var snapshot = try await connection.observe("b.*", retained: true).makeAsyncIterator()
      let kept = Notification(
        "b.c", sender: ":8", poster: Poster(uid: 34), userInfo: "1", isRetained: true)
      #expect(try await snapshot.next() == .notification(kept))
    }
  }

  @Test("Unknown facts are nil or empty")
  func unknown() {
    #expect(Poster(PeerIdentity.gone(of: 34)) == Poster(uid: 34))
    #expect(Poster(PeerIdentity.gone()) == Poster())
    #expect(Poster().pid == nil && Poster().uid == nil && Poster().unit == "")
    #expect(Self.poster.unit == "user@34.service")
  }

  @Test("The hello requests posters if the program does", arguments: [false, true])
  func hello(identifies: Bool) async throws {
    let bus = try ScriptedBus()
    let playing: Playing<Hello> = try bus.play { peer in
      let hello = try peer.readHello()
      try peer.greet(isHelloRead: true)
      try peer.readToEnd()
      return hello
    }
    let connection = try await Connection.connect(to: bus.address, identifyingPosters: identifies)
    await connection.close()
    #expect(
      try await playing.value.capabilities == (identifies ? [.descriptors, .posters] : .descriptors))
  }
}
