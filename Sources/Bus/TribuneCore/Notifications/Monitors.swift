// SPDX-License-Identifier: Apache-2.0

import TribuneWire

struct Monitors: ~Copyable {
  struct Registration {
    /// nil if the registration is for all frames.
    let pattern: Pattern?
  }

  private var center: NotificationCenter
  private let access = Access(.everything)
  /// The connections with monitors for all frames, in the order of their slots.
  private var watchers: [ConnectionSlot] = []
  private var watcherCounts: [ConnectionSlot: Int] = [:]

  init(seed: UInt64) { center = NotificationCenter(seed: seed, keepsBusApart: false) }

  var isEmpty: Bool { center.observationCount == 0 }

  mutating func add(_ registration: Registration, slot: ConnectionSlot) {
    center.add(registration.observation, slot: slot)
    guard registration.pattern == nil else { return }
    watcherCounts[slot, default: 0] += 1
    guard watcherCounts[slot] == 1 else { return }
    watchers.insert(slot, at: watchers.firstIndex { $0.index > slot.index } ?? watchers.count)
  }

  mutating func remove(_ registration: Registration, slot: ConnectionSlot) {
    center.remove(registration.observation, slot: slot)
    guard registration.pattern == nil else { return }
    guard let count = watcherCounts[slot], let place = watchers.firstIndex(of: slot) else {
      preconditionFailure("slot \(slot.index) has no monitor without a pattern")
    }
    watcherCounts[slot] = count == 1 ? nil : count - 1
    guard count == 1 else { return }
    watchers.remove(at: place)
  }

  /// The connections that monitor frames with this name. If the name is empty or invalid, only monitors of
  /// all frames match. A name can be invalid, because monitors also see refused frames.
  mutating func watching(_ name: RawSpan) -> [ConnectionSlot] {
    guard name.byteCount > 0 else { return watchers }
    do throws(WireError) {
      let route = try center.route(of: name, nameLength: name.byteCount, access).index
      return center.receivers(atRoute: route).map(\.slot)
    } catch {
      return watchers
    }
  }
}

extension Monitors.Registration {
  var observation: NotificationCenter.Observation { .init(pattern: pattern ?? .any, object: nil) }

  var tokenCount: Int { observation.pattern.tokenCount }
}
