// SPDX-License-Identifier: Apache-2.0

/// A FleetLock client as the owner of a lease. The owner's name contains a colon, which host names never
/// contain. So clients and hosts cannot release each other's leases.
nonisolated enum FleetLockClient {
  private static let prefix = "fleetlock:"
  /// In bytes.
  static let idMax = 128

  static func isID(_ text: some StringProtocol) -> Bool {
    (1...idMax).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
          UInt8(ascii: ":"):
          true
        default: false
        }
      }
  }

  static func owner(_ id: String) -> String { prefix + id }

  static func isOwner(_ text: String) -> Bool {
    text.hasPrefix(prefix) && isID(text.dropFirst(prefix.count))
  }
}
