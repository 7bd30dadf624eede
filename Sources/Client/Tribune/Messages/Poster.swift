// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The process that posted a notification, as the kernel and systemd identify it.
///
/// A connection receives posters only if it asks for them
/// (``Connection/connect(to:within:reconnectingFor:identifyingPosters:pace:events:)``). A property that the
/// bus does not know is nil or empty.
public struct Poster: Hashable, Sendable {
  private let identity: PeerIdentity

  /// The process id; nil if unknown, or if the process is outside the bus's pid namespace.
  public var pid: Int32? { identity.pid == 0 ? nil : Int32(clamping: identity.pid) }
  /// The user id of the process when it connected; nil if unknown.
  public var uid: UInt32? { identity.uid == PeerIdentity.unknownUser ? nil : identity.uid }
  /// The name of the process (comm), at most 15 bytes; empty if unknown.
  public var process: String { identity.process }
  public var units: Units { Units(identity.units) }
  public var unit: String { units.primary }

  /// Makes a poster, for tests.
  public init(pid: Int32? = nil, uid: UInt32? = nil, process: String = "", units: Units = Units()) {
    identity = PeerIdentity(
      pid: UInt32(clamping: pid ?? 0), uid: uid ?? PeerIdentity.unknownUser, gid: PeerIdentity.unknownUser,
      process: process, units: PeerUnits(system: units.system, user: units.user))
  }

  init(_ identity: PeerIdentity) { self.identity = identity }

  public static func == (one: Poster, other: Poster) -> Bool {
    one.pid == other.pid && one.uid == other.uid && one.process == other.process && one.units == other.units
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(pid)
    hasher.combine(uid)
    hasher.combine(process)
    hasher.combine(units)
  }
}
