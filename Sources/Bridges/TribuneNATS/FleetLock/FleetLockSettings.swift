// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneWire

/// The FleetLock settings in nats.conf.
nonisolated package struct FleetLockSettings: Equatable, Sendable {
  package struct Group: Equatable, Sendable {
    /// Machines that may reboot at the same time.
    package var slots = 1
    /// The question to ask before a reboot; nil for none.
    package var question: String?
    /// The reason to refuse all reboots of the group.
    package var lack: String?

    package init() {}
  }

  package static let groupsMax = 64

  /// `Hosts=`, `TokenFile=` and `AllowNetwork=`.
  package var access = HTTPAccess()
  package var groups: [String: Group] = [:]

  package init() {}

  package static func lease(of group: String) -> String { "fleetlock.\(group)" }

  /// A lease's name cannot have dots in a row or at an end, which FleetLock would allow.
  package static func isGroup(_ text: String) -> Bool {
    !text.utf8.contains(UInt8(ascii: "_")) && NameSyntax.isName(lease(of: text).utf8Bytes)
  }
}
