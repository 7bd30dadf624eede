// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

extension BusServer {
  /// Answers a `list`.
  ///
  /// - Throws: what ends the connection.
  func list(_ frame: FrameView, for connection: Connection) throws(WireError) {
    // One read can hold more than a thousand of these, from a peer that did not wait for the first answer.
    guard !connection.isWriteClosed else { return }
    let serial = frame.header.serial
    do throws(WireError) {
      let list = try frame.decode(List.self)
      switch list.subject {
      case .bus: say(Entry.bus(busEntry), to: connection, serial: serial)
      case .connections:
        // Slots are used again, so their order says nothing.
        let listed = sessions.all
          .filter { $0.phase == .open && (list.connection == 0 || $0.id.rawValue == list.connection) }
          .sorted { $0.id < $1.id }
        sayAll(listed.lazy.map { .connection(self.entry(of: $0)) }, to: connection, serial: serial)
      case .observations:
        let entries = bus.observationEntries(of: list.connection)
        sayAll(entries.lazy.map { .observation($0) }, to: connection, serial: serial)
      case .delegates:
        let entries = bus.delegateEntries(of: list.connection)
        sayAll(entries.lazy.map { .delegate($0) }, to: connection, serial: serial)
      case .chain:
        sayAll(try bus.explain(frame, at: now), to: connection, serial: serial)
      case .holds:
        let entries = bus.holdEntries(of: list.connection, at: now)
        sayAll(entries.lazy.map { .hold($0) }, to: connection, serial: serial)
      case .objects:
        let entries = bus.objectEntries(of: list.connection)
        sayAll(entries.lazy.map { .object($0) }, to: connection, serial: serial)
      case .protocols:
        let entries = bus.protocolEntries(of: list.connection)
        sayAll(entries.lazy.map { .protocol($0) }, to: connection, serial: serial)
      case .members:
        let entries = try bus.memberEntries(of: frame.object)
        sayAll(entries.lazy.map { .member($0) }, to: connection, serial: serial)
      case .retained:
        let entries = bus.retainedEntries(of: list.connection, at: now)
        sayAll(entries.lazy.map { .retained($0) }, to: connection, serial: serial)
      }
      say(Okay(), to: connection, serial: serial)
    } catch {
      guard !error.code.closesConnection else { throw error }
      refuse(connection, serial: serial, error)
    }
  }

  /// Says each, for as long as that does not get the connection closed.
  private func sayAll(_ entries: some Sequence<Entry>, to connection: Connection, serial: Serial) {
    for entry in entries {
      guard connection.isServed else { return }
      say(entry, to: connection, serial: serial, isRecorded: false)
    }
  }

  private var busEntry: BusEntry {
    var entry = BusEntry()
    entry.pid = processID
    entry.software = Version.current
    entry.address = address
    entry.uptime = now.nanoseconds(since: started) / 1000
    entry.connections = UInt32(clamping: sessions.count)
    entry.observations = UInt32(clamping: observationCount)
    entry.delegates = UInt32(clamping: delegateCount)
    entry.queries = UInt32(clamping: queryCount)
    entry.posted = statistics.posted
    entry.delivered = statistics.delivered
    entry.lost = statistics.lost
    entry.asked = askedCount
    entry.vetoed = vetoedCount
    entry.holds = UInt32(clamping: bus.holdCount)
    return entry
  }

  /// Whether a restart does not end it, as far as it ends none.
  private func survives(_ connection: Connection) -> Bool {
    let isKept = store.map { connection.isStored && $0.hasState } ?? true
    return isKept && !connection.traffic.value.sessionFlags.contains(.incomplete)
  }

  private func entry(of connection: Connection) -> ConnectionEntry {
    let counts = bus.counts(at: connection.slot)
    let held = bus.heldByteCount(at: connection.slot)
    return ConnectionEntry(
      id: connection.id, peer: connection.peer,
      age: now.nanoseconds(since: connection.connected) / 1000,
      observations: UInt32(clamping: counts.observations), delegates: UInt32(clamping: counts.delegates),
      queries: UInt32(clamping: counts.queries), queued: UInt64(connection.queue.byteCount),
      lost: connection.queue.lostCount, posted: connection.postedCount, isPaused: connection.isPaused,
      isLossy: connection.flow == .lossy, isSuspended: held != nil, held: UInt64(held ?? 0),
      isSurviving: survives(connection))
  }
}
