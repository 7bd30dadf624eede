// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneLog
import TribunePolicy
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("A connection in the log of the last daemon")
struct FoundConnectionTests {
  private static func position() throws -> EntryPosition {
    let log = try WriteAheadLog(slotCount: 0, segmentCapacity: 4096)
    let position = log.append(kind: 1, owner: 1, time: 1, RawSpan(), RawSpan())
    return try #require(position)
  }

  private static func found() throws -> FoundConnection {
    let bytes = ByteBuffer(capacity: 256)
    for _ in 0..<32 { bytes.append(UInt64(0)) }
    var reader = FieldReader(bytes.bytes)
    return FoundConnection(
      facts: try ConnectionFacts(from: &reader), positions: LogPositions(connect: try position()))
  }

  @Test(
    "has the groups known to the last daemon, including those that it looked up",
    arguments: [[0], [0, 5, 9], Groups([0], lookedUp: []), Groups([0, 5], lookedUp: [5, 9, .max])] as [Groups]
  )
  func groups(_ groups: Groups) throws {
    var facts = try Self.found().facts
    facts.subject.groups = groups
    let bytes = ByteBuffer(capacity: 256)
    facts.append(to: bytes)
    var reader = FieldReader(bytes.bytes)
    let read = try ConnectionFacts(from: &reader)
    #expect(read.subject == facts.subject && reader.isAtEnd)
  }

  private static let id = ConnectionID(rawValue: 7)

  private static func fate(_ flags: SessionFlags, isHandedOver: Bool) throws -> String {
    var found = try found()
    found.judge(
      by: SessionCounters(connection: id, flags: flags, queued: 5, sent: 3, buffered: 2), id: id,
      isHandedOver: isHandedOver)
    return switch found.fate {
    case .survives: "survives \(found.queuedCount)+\(found.bufferedCount)"
    case .loses(let count): "loses \(count) \(found.queuedCount)+\(found.bufferedCount)"
    case .restarts(let isNotified):
      (isNotified ? "told " : "closed ") + "\(found.queuedCount)+\(found.bufferedCount)"
    }
  }

  @Test(
    "has to reconnect after doubtful input or output, and learns it unless a frame is half written",
    arguments: [
      ([], "survives 5+2", "loses 4 5+2"),
      (.hasUnreadFiles, "survives 5+2", "loses 4 5+2"),
      (.receiving, "survives 5+2", "told 5+2"),
      (.sending, "survives 5+2", "closed 5+2"),
      (.incomplete, "told 5+2", "told 5+2"),
      (.detached, "closed 5+2", "closed 5+2"),
      ([.incomplete, .sending], "closed 5+2", "closed 5+2"),
    ] as [(SessionFlags, String, String)])
  func fates(_ flags: SessionFlags, _ handedOver: String, _ afterDeath: String) throws {
    #expect(try Self.fate(flags, isHandedOver: true) == handedOver)
    #expect(try Self.fate(flags, isHandedOver: false) == afterDeath)
  }

  @Test("stays detached, is closed, and does not know what it missed, if its counter slot is damaged")
  func damagedCounters() throws {
    var found = try Self.found()
    found.detachedUntil = Instant(nanoseconds: 1)
    found.judge(by: nil, id: Self.id, isHandedOver: false)
    guard found.isDetached, found.isIncomplete, case .restarts(isNotified: false) = found.fate else {
      Issue.record("\(found.fate)")
      return
    }
  }

  @Test(
    "gets its missing control frames once each, even if a dying daemon logged them twice",
    arguments: [0, .max - 1] as [UInt32])
  func said(sent: UInt32) throws {
    var found = try Self.found()
    for number in [0, 1, 2, 1, 2, 3] as [UInt32] {
      found.controlFrames.append((number: sent &+ number, frame: ByteBuffer(capacity: 0)))
    }
    found.judge(by: SessionCounters(connection: Self.id, controlSent: sent), id: Self.id, isHandedOver: false)
    #expect(found.controlFrames.map(\.number) == [1, 2, 3].map { sent &+ $0 })
  }
}
