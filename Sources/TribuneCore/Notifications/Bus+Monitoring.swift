// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Who monitors the bus. What passes, and when, only the server knows.
extension Bus {
  /// Whether what passes is to be shown to anybody.
  package var isMonitored: Bool { mutating get { !monitors.isEmpty } }

  /// The monitors that are shown what passes under `name`; empty is under none.
  package mutating func monitors(of name: RawSpan) -> [ConnectionSlot] {
    monitors.watching(name)
  }

  /// Whether a connection monitors anything.
  package func isMonitor(_ slot: ConnectionSlot) -> Bool {
    connections[slot.index]?.monitors.isEmpty == false
  }

  mutating func monitor(_ frame: FrameView, from slot: ConnectionSlot) throws(WireError) {
    _ = try frame.decode(Monitor.self)
    let serial = frame.header.serial
    let registration = Monitors.Registration(
      pattern: frame.name.byteCount == 0 ? nil : try frame.pattern())
    try requireRoom(for: serial, from: slot)
    try requireRoom(for: registration.observation.pattern, from: slot)
    monitors.add(registration, slot: slot)
    connections[slot.index]?.monitors[serial] = registration
    connections[slot.index]?.tokenCount += registration.tokenCount
    emit(.okay(slot, serial, Okay(registration: serial)))
  }

  /// Name, object and whatever userInfo is kept of the query at `place`, if that is of interest to anybody.
  mutating func shownTail(at place: Int) -> QueryTail? {
    isMonitored ? queries.tail(at: place) : nil
  }

  /// Name and object of an awaited post that is under way, if it was of interest to anybody.
  package func shownTail(ofPost serial: Serial, by poster: ConnectionID) -> QueryTail? {
    awaitedPosts.number(poster: poster, serial: serial).flatMap { awaitedPosts[$0].shown }
  }
}
