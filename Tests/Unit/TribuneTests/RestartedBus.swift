// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

func conversationOverRestarts<Value: Sendable>(
  _ script: @escaping @Sendable (ScriptedPeer) throws -> Value,
  client: (Connection, Notes) async throws -> Void
) async throws -> Value {
  let bus = try ScriptedBus()
  let playing: Playing<Value> = try bus.play { peer in
    try peer.greet()
    let value = try script(peer)
    var last = peer
    while let successor = last.successor { last = successor }
    try last.readToEnd()
    return value
  }
  let events = Notes()
  // The limit guards only against hanging.
  let connection = try await Connection.connect(to: bus.address, reconnectingFor: .seconds(100)) {
    events.note($0)
  }
  try await client(connection, events)
  await connection.close()
  return try await playing.value
}

extension Notes {
  func note(_ event: ConnectionEvent) {
    switch event {
    case .disconnected(let error): note("disconnected \(error.code)")
    case .reconnected(let lost): note("reconnected \(lost.map { "\($0)" } ?? "unknown")")
    }
  }

  func expectReconnection(lost: String = "0", sourceLocation: SourceLocation = #_sourceLocation) async {
    #expect(await next() == "disconnected connectionLost", sourceLocation: sourceLocation)
    #expect(await next() == "reconnected \(lost)", sourceLocation: sourceLocation)
  }
}

extension ScriptedPeer {
  func restart(as id: UInt64 = 8) throws -> ScriptedPeer {
    close()
    let next = try bus.accept()
    try next.greet(as: id)
    _ = try next.nextLimit()
    #expect(next.early.isEmpty, "a renewal begins with another frame than a limit")
    successor = next
    return next
  }

  func confirm(_ frame: Frame, as id: UInt64 = 0, expiry: UInt64 = 0) throws {
    try send(Okay(registration: frame.serial, delegate: id, expiry: expiry), serial: frame.serial)
  }

  func confirmSuccession(of predecessor: UInt64, received: UInt64) throws {
    let succeed = try next(.succeed)
    let fields = try succeed.decode(Succeed.self)
    #expect(fields == Succeed(predecessor: ConnectionID(rawValue: predecessor), received: received))
    try send(Okay(), serial: succeed.serial)
  }
}
