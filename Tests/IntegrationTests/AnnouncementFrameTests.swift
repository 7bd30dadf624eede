// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// Who comes, who goes, and the end, as the bus posts it.
@Suite("What the bus itself posts about connections", .timeLimit(.minutes(1)))
struct AnnouncementFrameTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func json(_ frame: RawClient.Frame) throws -> [String: Any] {
    #expect(frame.header.sender == .bus)
    #expect(frame.object.isEmpty)
    let json = try JSONSerialization.jsonObject(with: Data(frame.payloadBytes))
    return try #require(json as? [String: Any])
  }

  @Test("who connects and who goes is told, and why if the bus closed it")
  func connections() throws {
    let observer = try RawClient.observing("tribune.connection.*", on: bus)
    let (client, welcome) = try RawClient.welcomed(bus)
    let came = try observer.next(.post)
    #expect(came.name == "tribune.connection.didConnect")
    let who = try json(came)
    #expect(who["connection"] as? String == "\(welcome.connection)")
    let identity = try ThisProcess.identity
    #expect(who["pid"] as? UInt32 == identity.pid)
    #expect(who["uid"] as? UInt32 == identity.uid)
    #expect(who["process"] as? String == identity.process)
    #expect(who["unit"] as? String == identity.unit)
    #expect(who.count == 5)
    // A frame that is shorter than its header.
    try client.send([UInt8](repeating: 0, count: 32))
    let ended = try observer.next(.post)
    #expect(ended.name == "tribune.connection.didDisconnect")
    let whom = try json(ended)
    #expect(whom["connection"] as? String == "\(welcome.connection)")
    #expect(whom["reason"] as? String == "malformedFrame")
    #expect(whom.count == 6)
    // Who never says hello is no connection of the bus.
    try RawClient(bus).send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    func comeAndGo() throws -> ConnectionID { try RawClient.welcomed(bus).welcome.connection }
    let other = try comeAndGo()
    #expect(try json(observer.next(.post))["connection"] as? String == "\(other)")
    let left = try json(observer.next(.post))
    #expect(left["connection"] as? String == "\(other)")
    #expect(left["reason"] == nil)
  }

  @Test("that the bus stops is told before anybody is dismissed, and is the last that it posts")
  func stopping() throws {
    let observers = try (0..<3).map { _ in
      let observer = try RawClient.observing("tribune.**", on: bus)
      try observer.observe("load.*", serial: 2)
      return observer
    }
    // One is told although it has lost what came before.
    let poster = try RawClient.greeted(bus)
    let stream = PostStream(poster, length: 3000)
    try stream.post(2000)
    try poster.settle()
    bus.signal(SIGTERM)
    for observer in observers {
      var names: [String] = []
      var last: RawClient.Frame?
      do {
        while true {
          let frame = try observer.next()
          if frame.kind == .post, frame.header.sender == .bus { names.append(frame.name) }
          last = frame
        }
      } catch is RawClient.Ended {}
      #expect(names.last == "tribune.bus.willStop")
      #expect(!names.contains("tribune.connection.didDisconnect"))
      #expect(try last?.decode(Refusal.self).code == .shuttingDown)
    }
  }
}
