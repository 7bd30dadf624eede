// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

extension BusServer {
  /// Answers a `list`.
  ///
  /// - Throws: what ends the connection.
  func list(_ frame: FrameView, for connection: Connection) throws(WireError) {
    // One read can hold more than a thousand of these, from a peer that did not wait for the first answer.
    guard !connection.isDeaf else { return }
    let serial = frame.header.serial
    do throws(WireError) {
      let list = try frame.decode(List.self)
      switch list.subject {
      case .bus: say(Entry.bus(busEntry), to: connection, serial: serial)
      case .connections:
        // Slots are used again, so their order says nothing.
        let listed = connections.lazy.compactMap { $0 }
          .filter { $0.phase == .open && (list.connection == 0 || $0.id.rawValue == list.connection) }
          .sorted { $0.id < $1.id }
        for other in listed {
          guard connection.isServed else { return }
          say(Entry.connection(entry(of: other)), to: connection, serial: serial)
        }
      case .observations:
        for entry in bus.observationEntries(of: list.connection) {
          guard connection.isServed else { return }
          say(Entry.observation(entry), to: connection, serial: serial)
        }
      case .delegates:
        for entry in bus.delegateEntries(of: list.connection) {
          guard connection.isServed else { return }
          say(Entry.delegate(entry), to: connection, serial: serial)
        }
      case .chain:
        for entry in try bus.explain(frame, at: now) {
          guard connection.isServed else { return }
          say(entry, to: connection, serial: serial)
        }
      case .holds:
        for entry in bus.holdEntries(of: list.connection, at: now) {
          guard connection.isServed else { return }
          say(Entry.hold(entry), to: connection, serial: serial)
        }
      case .objects:
        for entry in bus.objectEntries(of: list.connection) {
          guard connection.isServed else { return }
          say(Entry.object(entry), to: connection, serial: serial)
        }
      case .protocols:
        for entry in bus.protocolEntries(of: list.connection) {
          guard connection.isServed else { return }
          say(Entry.protocol(entry), to: connection, serial: serial)
        }
      case .members:
        for entry in try bus.memberEntries(of: frame.object) {
          guard connection.isServed else { return }
          say(Entry.member(entry), to: connection, serial: serial)
        }
      }
      say(Okay(), to: connection, serial: serial)
    } catch {
      guard !error.code.closesConnection else { throw error }
      refuse(connection, serial: serial, error)
    }
  }

  private var busEntry: BusEntry {
    var entry = BusEntry()
    entry.pid = processID
    entry.software = Version.current
    entry.address = address
    entry.uptime = now.nanoseconds(since: started) / 1000
    entry.connections = UInt32(clamping: connectionCount)
    entry.observations = UInt32(clamping: observationCount)
    entry.delegates = UInt32(clamping: delegateCount)
    entry.queries = UInt32(clamping: queryCount)
    entry.posted = postedCount
    entry.delivered = deliveredCount
    entry.lost = lostCount
    entry.asked = askedCount
    entry.vetoed = vetoedCount
    entry.holds = UInt32(clamping: bus.holdCount)
    return entry
  }

  private func entry(of connection: Connection) -> ConnectionEntry {
    let counts = bus.counts(at: connection.slot)
    return ConnectionEntry(
      id: connection.id, peer: connection.peer,
      age: now.nanoseconds(since: connection.connected) / 1000,
      observations: UInt32(clamping: counts.observations), delegates: UInt32(clamping: counts.delegates),
      queries: UInt32(clamping: counts.queries), queued: UInt64(connection.queue.byteCount),
      lost: connection.queue.lostCount, posted: connection.postedCount, isPaused: connection.isPaused,
      isLossy: connection.flow == .lossy)
  }
}
