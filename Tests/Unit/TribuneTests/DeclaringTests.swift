// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct DeclaringTests {
  @Test func aDeclarationReachesTheBusAndIsWithdrawnOnce() async throws {
    let rest = try await conversation { peer in
      let declare = try peer.next(.declare)
      #expect([declare.name, declare.object, declare.payload] == ["", "view/1", "protocol P {}"])
      #expect(try declare.decode(Declare.self) == Declare(protocolName: "P"))
      try peer.send(Okay(registration: declare.serial), serial: declare.serial)
      let cancel = try peer.next(.cancel)
      #expect(try cancel.decode(Cancel.self).target == declare.serial)
      try peer.send(Okay(), serial: cancel.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let declaration = try await connection.declare("view/1", as: "P", definitions: "protocol P {}")
      try await declaration.withdraw()
      try await declaration.withdraw()
    }
    #expect(rest == [])
  }

  @Test func aDefinitionDeclaresNothing() async throws {
    try await conversation { peer in
      let declare = try peer.next(.declare)
      #expect([declare.object, declare.payload] == ["", "protocol P {}"])
      #expect(try declare.decode(Declare.self) == Declare())
      try peer.send(Okay(registration: declare.serial), serial: declare.serial)
      let second = try peer.next(.declare)
      try peer.send(
        Refusal(.invalidProtocol), serial: second.serial, text: "1:10: a { is missing\n2:1: \u{1B}")
    } client: { connection in
      try await connection.define("protocol P {}")
      #expect(
        await failure { try await connection.define("protocol P") }
          == TribuneError(.invalidProtocol, "1:10: a { is missing\n2:1: \\u{1b}"))
    }
  }

  @Test func invalidDeclarationsAreNotSent() async throws {
    try await expectSilence { connection in
      let long = String(repeating: "P", count: 256)
      #expect(await failure { try await connection.declare("", as: "P") }?.code == .invalidObject)
      #expect(await failure { try await connection.declare("\n", as: "P") }?.code == .invalidObject)
      #expect(await failure { try await connection.declare("a", as: "") }?.code == .unknownProtocol)
      #expect(await failure { try await connection.declare("a", as: long) }?.code == .limitExceeded)
      #expect(await failure { try await connection.define("") }?.code == .invalidProtocol)
      #expect(await failure { try await connection.introspect("") }?.code == .invalidObject)
    }
  }

  @Test func objectsProtocolsAndTheirMessagesAreListed() async throws {
    try await conversation { peer in
      let objects = [
        ObjectEntry(object: "view/*", protocolName: "P", delegates: 0, connection: .bus),
        ObjectEntry(object: "a", protocolName: "", delegates: 2, connection: ConnectionID(rawValue: 9)),
      ]
      try peer.list(.objects, objects.map { .object($0) })
      let heir = ProtocolEntry(
        name: "Q", parents: ["P"], members: 3, connection: .bus, documentation: "Says more.")
      try peer.list(.protocols, [.protocol(heir)])
      let members = [
        MemberEntry(
          origin: "P", kind: .value, isRequired: true, name: "view.rows", parameters: "()",
          result: "(rows: int)", documentation: ""),
        MemberEntry(
          origin: "Q", kind: .did, isRequired: false, name: "view.didTap", parameters: "(x: float)",
          result: "", documentation: ""),
      ]
      try peer.list(.members, object: "view/1", members.map { .member($0) })
      let hold = HoldEntry(
        connection: ConnectionID(rawValue: 9), delegate: identity(8, "d"), pattern: "a.**",
        object: "b", why: "c", age: 1, remaining: 5_000_000)
      try peer.list(.holds, [.hold(hold)])
    } client: { connection in
      let objects = try await connection.objects()
      #expect(objects.map(\.object) == ["view/*", "a"])
      #expect(objects.map(\.protocolName) == ["P", nil])
      #expect(objects.map(\.connection) == [nil, ":9"])
      #expect(objects.map(\.delegates) == [0, 2])
      #expect(
        try await connection.protocols()
          == [
            ProtocolInfo(name: "Q", parents: ["P"], members: 3, connection: nil, documentation: "Says more.")
          ])
      let members = try await connection.introspect("view/1")
      #expect(members.map(\.kind) == [.value, .did])
      #expect(members.map(\.origin) == ["P", "Q"])
      #expect(members.map(\.result) == ["(rows: int)", nil])
      let holds = try await connection.holds()
      #expect(holds.map(\.expiresIn) == [.seconds(5)])
      #expect(holds.map(\.label) == ["d"])
    }
  }
}
