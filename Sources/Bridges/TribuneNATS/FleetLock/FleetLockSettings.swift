// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneWire

/// What nats.conf says of FleetLock.
nonisolated package struct FleetLockSettings: Equatable, Sendable {
  /// A section `[FleetLock "GROUP"]`.
  package struct Group: Equatable, Sendable {
    /// How many of its machines may reboot at a time.
    package var slots = 1
    /// The name that is asked before one may; nil for none.
    package var question: String?
    /// Why nobody of the group may reboot; nil if they may.
    package var lack: String?

    package init() {}
  }

  package static let groupsMax = 64

  /// `Hosts=`, `TokenFile=` and `AllowNetwork=` of the section `[FleetLock]`.
  package var access = HTTPAccess()
  package var groups: [String: Group] = [:]

  package init() {}

  package static func lease(of group: String) -> String { "fleetlock.\(group)" }

  /// Whether a text can be a group. What FleetLock allows beyond that, dots in a row or at the ends, no lease can have in
  /// its name.
  package static func isGroup(_ text: String) -> Bool {
    !text.utf8.contains(UInt8(ascii: "_")) && NameSyntax.isName(lease(of: text).utf8Bytes)
  }
}
