// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The systemd units of a process: two facts, as in systemd's journal.
public struct Units: Hashable, Sendable {
  /// The unit of the system's service manager, which the system vouches for; empty if none. For a process of a user's
  /// service manager, it is that manager's unit, `user@UID.service`.
  public var system: String
  /// Of a user's service manager, whose name the user has chosen; empty if none.
  public var user: String

  public init(system: String = "", user: String = "") {
    self.system = system
    self.user = user
  }

  init(_ units: PeerUnits) { self.init(system: units.system, user: units.user) }

  /// The system's unit, or else the user's; empty without both.
  public var primary: String { PeerUnits(system: system, user: user).primary }
}

extension Units: CustomStringConvertible {
  /// `SYSTEM`, or `SYSTEM/USER`.
  public var description: String { PeerUnits(system: system, user: user).text }
}
