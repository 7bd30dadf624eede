// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// What the bus posts when clients connect and disconnect.
@Suite("What the bus itself posts about connections", .timeLimit(.minutes(1)))
struct AnnouncementFrameTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func json(_ frame: RawClient.Frame) throws -> [String: Any] {
    #expect(frame.header.sender == .bus)
    #expect(frame.object.isEmpty)
    return try jsonObject(frame.payload)
  }

  @Test("observers learn who connects and disconnects, and why if the bus closed the connection")
  func connections() throws {
    let observer = try RawClient.observing("tribune.connection.*", on: bus)
    let (client, welcome) = try RawClient.welcomed(bus)
    let came = try observer.next(.post)
    #expect(came.name == "tribune.connection.didConnect")
    let peer = try json(came)
    #expect(peer["connection"] as? String == "\(welcome.connection)")
    let identity = try ThisProcess.identity
    #expect(peer["pid"] as? UInt32 == identity.pid)
    #expect(peer["uid"] as? UInt32 == identity.uid)
    #expect(peer["process"] as? String == identity.process)
    #expect(peer["unit"] as? String == identity.unit)
    #expect(peer.count == 5)
    // A frame that is shorter than its header.
    try client.send([UInt8](repeating: 0, count: 32))
    let ended = try observer.next(.post)
    #expect(ended.name == "tribune.connection.didDisconnect")
    let end = try json(ended)
    #expect(end["connection"] as? String == "\(welcome.connection)")
    #expect(end["reason"] as? String == "malformedFrame")
    #expect(end.count == 6)
    // A client that never says hello is not announced.
    try RawClient(bus).send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    let other = try RawClient.welcomed(bus).welcome.connection
    #expect(try json(observer.next(.post))["connection"] as? String == "\(other)")
    let left = try json(observer.next(.post))
    #expect(left["connection"] as? String == "\(other)")
    #expect(left["reason"] == nil)
  }
}
