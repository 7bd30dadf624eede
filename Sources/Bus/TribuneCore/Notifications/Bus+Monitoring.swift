// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

extension Bus {
  package var isMonitored: Bool { mutating get { !monitors.isEmpty } }

  /// - Parameter name: empty for frames without a name.
  package mutating func monitors(of name: RawSpan) -> [ConnectionSlot] { monitors.watching(name) }

  package func isMonitor(_ slot: ConnectionSlot) -> Bool {
    connections.has(slot) && !connections[slot].monitors.isEmpty
  }

  mutating func monitor(_ frame: FrameView, from slot: ConnectionSlot) throws(WireError) {
    _ = try frame.decode(Monitor.self)
    let serial = frame.header.serial
    let registration = Monitors.Registration(pattern: frame.name.byteCount == 0 ? nil : try frame.pattern())
    try requireCapacity(for: serial, from: slot)
    let tokenCount = registration.tokenCount
    try requireCapacity(forTokens: tokenCount, from: slot)
    try requirePermission(.monitor, on: [registration.pattern ?? .any], object: "", from: slot)
    monitors.add(registration, slot: slot)
    connections[slot].monitors[serial] = registration
    connections[slot].tokenCount += tokenCount
    emit(.okay(slot, serial, Okay(registration: serial)))
  }

  mutating func shownTail(at place: Int) -> QueryTail? { isMonitored ? queries.tail(at: place) : nil }

  /// Returns nil if the awaited post has ended, or if the bus had no monitors when the post came.
  package func shownTail(ofPost serial: Serial, by poster: ConnectionID) -> QueryTail? {
    awaitedPosts.number(poster: poster, serial: serial).flatMap { awaitedPosts[$0].shown }
  }
}
