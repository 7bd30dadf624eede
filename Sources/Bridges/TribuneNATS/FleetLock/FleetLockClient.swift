// SPDX-License-Identifier: Apache-2.0

/// A client of FleetLock as the owner of a lease: a machine, which need not run Tribune.
///
/// Its name is one that no host can have, for theirs have no colon. So no host can release what a client has, nor a client
/// what a host has.
nonisolated enum FleetLockClient {
  private static let prefix = "fleetlock:"
  /// Bytes that the id of a client can have.
  static let idMax = 128

  /// Whether a text can be the id of a client: letters, digits, `.`, `_`, `-` and `:`, as machine ids, UUIDs and the names of
  /// hosts have them.
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
