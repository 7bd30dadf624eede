// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("Corrupt numbers in a log", .timeLimit(.minutes(15)))
struct SpoiltNumberTests {
  enum Place: CaseIterable {
    case counters, facts, ids, slots, frames, moments

    func spoil(_ state: inout SavedLog) throws {
      for record in state.records {
        switch (self, EntryKind(rawValue: record.kind)) {
        case (.counters, .counters): for word in 0..<3 { state.set(.max, at: 8 * word, inBodyOf: record) }
        case (.facts, .connect):
          let body = state.body(of: record)
          var reader = FieldReader(body.raw)
          var facts = try ConnectionFacts(from: &reader)
          facts.limits = FrameLimits(fields: Int(UInt32.max), payload: Int(UInt32.max))
          let spoilt = ByteBuffer(capacity: body.count)
          facts.append(to: spoilt)
          state.setBody(spoilt.array, of: record)
        case (.ids, .disconnect): state.set(.max, at: 16, in: record)
        case (.frames, .frame): for word in 0..<2 { state.set(.max, at: 8 * word, inBodyOf: record) }
        case (.moments, let kind) where kind != .controlFrame: state.set(.max, at: 24, in: record)
        default: break
        }
      }
      if self == .slots {
        let slot = 4096 + 64 * 60
        for word in 0..<5 { state.set(0xFFFF_FFFF << 32, at: slot + 8 * word) }
        state.set(0, at: slot + 48)
        state.set(.max, at: slot + 56)
      }
    }
  }

  @Test("neither kill the bus nor make it give an id twice", arguments: Place.allCases)
  func spoilt(_ place: Place) throws {
    var saved = try LogScene.record(.killed)
    try place.spoil(&saved[0])
    let (bus, scene) = try LogScene.takenOver(.killed, from: saved)
    var going = scene.clients
    if place == .frames {
      // The frames of the others are spoilt, and with them their registrations. The poster has none.
      let poster = going.remove(at: 3)
      for client in going { #expect(try client.nextError() == .restarted) }
      going = [poster]
    }
    var last: UInt64 = 0
    var lastQuery: UInt64 = 0
    for _ in 0..<3 {
      for client in going { try client.settle() }
      let (fresh, welcome) = try RawClient.welcomed(bus)
      #expect(welcome.connection.rawValue > max(last, UInt64(scene.clients.count)))
      last = welcome.connection.rawValue
      try fresh.observe("load.*", serial: 1)
      try fresh.attach(Attach(patterns: ["b.shouldC"]), serial: 2)
      try fresh.send(Post(), serial: 3, name: "load.unit")
      #expect(try fresh.next(.post).name == "load.unit")
      let query = try fresh.ask("c.shouldD", serial: 4).query.rawValue
      #expect(query > lastQuery)
      lastQuery = query
      try bus.crash()
    }
  }
}
