// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

enum Restart: Int, CaseIterable, Sendable {
  case replay
  /// Replays registrations and restores the rest, as after a compaction.
  case snapshot
}

struct LoggedEvent {
  let counters: BusCounters
  let frame: LoggedFrame?
  var happen: (inout Bus) -> Void = { _ in }
  /// Of its acceptance.
  var context: ByteBuffer?
}

struct LoggedFrame {
  let header: FrameHeader
  let frame: ByteBuffer
  let slot: ConnectionSlot
  let sender: ConnectionID?
  let at: Instant

  private var slice: ByteSlice { ByteSlice(frame, 0..<frame.count) }

  func receive(in bus: inout Bus) throws(WireError) -> Receipt {
    let receipt = try bus.receive(FrameView(header, slice.bytes), in: slice, from: slot, at: at)
    if case .unknownKind = receipt {
      preconditionFailure("a test sent a frame that the core does not handle")
    }
    return receipt
  }

  func replay(with context: ByteBuffer?, in bus: inout Bus) throws(WireError) -> Receipt {
    let context = context ?? ByteBuffer(capacity: 0)
    return try bus.replay(
      FrameView(header, slice.bytes), with: context.bytes, in: slice, from: slot, at: at)
  }
}

extension BusUnderTest {
  func happen(_ event: @escaping (inout Bus) -> Void) {
    log?.append(LoggedEvent(counters: bus.counters, frame: nil, happen: event))
    event(&bus)
    takeEffects()
  }

  func happen(_ frame: LoggedFrame) throws(WireError) {
    let counters = bus.counters
    defer { takeEffects() }
    guard case .accepted(let acceptance) = try frame.receive(in: &bus) else { return }
    log?.append(LoggedEvent(counters: counters, frame: frame, context: acceptance.context))
  }

  func restart(
    _ restart: Restart, configuring source: String = "",
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    var other = Self.makeBus(bus.limits)
    other.policy = bus.policy
    let protocols = source.isEmpty ? [] : [ProtocolSource(file: "test.protocol", text: Array(source.utf8))]
    _ = other.configure(protocols: protocols, objects: [])
    other.beginReplay()
    do throws(WireError) {
      switch restart {
      case .replay: try replay(in: &other)
      case .snapshot: try restore(in: &other)
      }
    } catch {
      Issue.record("\(error.message)", sourceLocation: sourceLocation)
    }
    other.endReplay()
    other.limits = bus.limits
    other.finishRestoring(at: now)
    #expect(other.counters == bus.counters, sourceLocation: sourceLocation)
    for slot in peers.keys {
      #expect(other.accounts(of: slot) == bus.accounts(of: slot), sourceLocation: sourceLocation)
    }
    bus = other
    #expect(take().isEmpty, sourceLocation: sourceLocation)
    takeEffects()
    #expect(take().isEmpty, sourceLocation: sourceLocation)
  }

  func appendUnderWay(to buffer: ByteBuffer) {
    bus.forEachUnderWay { _, _, fields in buffer.append(fields.bytes) }
  }

  var userByteCounts: [UInt32: Int] { bus.userByteCounts }

  func bufferedCount(of slot: ConnectionSlot) -> UInt64 { bus.bufferedCount(of: slot) }

  func isRetained(_ name: String, _ object: String, of sender: UInt64, at posted: Instant) -> Bool {
    bus.isRetained(name: name, object: object, sender: ConnectionID(rawValue: sender), posted: posted)
  }

  func replay(in other: inout Bus) throws(WireError) {
    for event in log ?? [] {
      other.setLast(query: event.counters.lastQuery, delegate: event.counters.lastDelegate)
      event.happen(&other)
      if let frame = event.frame {
        let receipt = try frame.replay(with: event.context, in: &other)
        guard case .accepted = receipt else { preconditionFailure("a replay refuses an accepted frame") }
      }
      other.dropEffects()
    }
  }

  /// In the order of a compaction: connections, registrations, the rest.
  private func restore(in other: inout Bus) throws(WireError) {
    other.setLast(query: bus.counters.lastQuery, delegate: bus.counters.lastDelegate)
    for (slot, (id, peer)) in peers.sorted(by: { $0.value.id < $1.value.id }) {
      other.connect(slot, id: id, peer: peer, subject: peer.subject)
    }
    for event in log ?? [] {
      guard let frame = event.frame, let peer = peers[frame.slot], peer.id == frame.sender else { continue }
      switch frame.header.kind {
      case .observe, .monitor, .attach, .hold, .declare:
        guard bus.isRegistered(frame.header.serial, by: frame.slot) else { continue }
      case .suspend: guard bus.isSuspended(frame.slot) != other.isSuspended(frame.slot) else { continue }
      default: continue
      }
      other.setLast(query: event.counters.lastQuery, delegate: event.counters.lastDelegate)
      _ = try frame.replay(with: event.context, in: &other)
      other.dropEffects()
    }
    for kept in bus.allRetained() {
      let fields = ByteBuffer { kept.append(to: $0) }
      #expect(try bus.isRetained(fields.bytes))
      try other.restoreRetained(fields.bytes, attachment: kept.attachment)
      #expect(try other.isRetained(fields.bytes))
    }
    for slot in peers.keys {
      #expect(other.isSuspended(slot) == bus.isSuspended(slot))
      let fields = ByteBuffer(capacity: 0)
      let files = bus.appendBuffered(of: slot, to: fields)
      if bus.isSuspended(slot) { try other.restoreBuffered(fields.bytes, attachments: files, for: slot) }
      #expect(other.bufferedCount(of: slot) == bus.bufferedCount(of: slot))
    }
    let moment = now
    try bus.forEachUnderWay { (what, owner, fields) throws(WireError) in
      switch what {
      case .query: try other.restoreQuery(fields.bytes, at: moment)
      case .action: try other.restoreAction(fields.bytes)
      case .awaitedPost: try other.restoreAwaitedPost(fields.bytes, at: moment)
      case .turns: try other.restoreTurns(fields.bytes, of: owner)
      }
    }
    other.dropEffects()
  }
}

extension Bus {
  fileprivate var userByteCounts: [UInt32: Int] {
    Dictionary(
      uniqueKeysWithValues: accounts.nonEmpty.filter { $0.charges.connectionCount > 0 }
        .map { ($0.uid, $0.uses[.log]) })
  }

  fileprivate func accounts(of slot: ConnectionSlot) -> [Int] {
    let connection = connections[slot]
    return [
      connection.registrationCount, connection.tokenCount, connection.delegateCount,
      connection.delegatePatterns.count,
      connection.delegatePatterns.tokenCount, connection.waitCount, connection.participantCount,
      connection.questionByteCount, connection.answerByteCount, connection.awaitedCount,
      connection.unacknowledgedPosts.count, connection.buffered?.byteCount ?? -1,
      connection.inbox?.turns.value.sentCount ?? 0, connection.inbox?.turns.value.unreadCount ?? 0,
    ]
  }
}
