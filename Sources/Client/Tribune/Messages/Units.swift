// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The systemd units of a process: one of the system's service manager, and one of a user's service manager.
public struct Units: Hashable, Sendable {
  /// The unit of the system's service manager; empty if the process has none. Users cannot choose this name.
  /// For a process of a user's service manager, this is the manager's own unit, `user@UID.service`.
  public var system: String
  /// The unit of a user's service manager; empty if the process has none. The user chooses this name.
  public var user: String

  public init(system: String = "", user: String = "") {
    self.system = system
    self.user = user
  }

  init(_ units: PeerUnits) { self.init(system: units.system, user: units.user) }

  /// The unit of the system's service manager, or else of the user's; empty if the process has neither.
  public var primary: String { PeerUnits(system: system, user: user).primary }
}

extension Units: CustomStringConvertible {
  /// The units as `SYSTEM`, or as `SYSTEM/USER`.
  public var description: String { PeerUnits(system: system, user: user).text }
}
