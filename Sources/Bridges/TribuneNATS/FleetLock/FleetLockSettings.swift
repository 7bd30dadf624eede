// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneWire

nonisolated package struct FleetLockSettings: Equatable, Sendable {
  package struct Group: Equatable, Sendable {
    /// How many clients may reboot at the same time.
    package var slots = 1
    package var question: String?
    /// Why no client gets the lease; nil if the settings are valid.
    package var lack: String?

    package init() {}
  }

  package static let groupsMax = 64

  package var access = HTTPAccess()
  package var groups: [String: Group] = [:]

  package init() {}

  package static func lease(of group: String) -> String { "fleetlock.\(group)" }

  /// True if `fleetlock.TEXT` is a valid name of a lease, and the text has no underscore, which FleetLock
  /// forbids. So dots must not be leading, trailing or repeated, although FleetLock allows that.
  package static func isGroup(_ text: String) -> Bool {
    !text.utf8.contains(UInt8(ascii: "_")) && NameSyntax.isName(lease(of: text).utf8Bytes)
  }
}
