// SPDX-License-Identifier: Apache-2.0

/// The systemd units of a peer. Only `system` is trustworthy, because users choose the names of their own
/// units.
package struct PeerUnits: Equatable, Sendable {
  /// Empty if the process has no system unit. A process of a user's service manager is in `user@UID.service`.
  package let system: String
  package let user: String

  package init(system: String = "", user: String = "") { (self.system, self.user) = (system, user) }

  package init(text: String) {
    let slash = text.utf8.firstIndex(of: UInt8(ascii: "/"))
    self.init(
      system: String(text[..<(slash ?? text.endIndex)]),
      user: slash.map { String(text[text.utf8.index(after: $0)...]) } ?? "")
  }

  package var primary: String { system.isEmpty ? user : system }

  /// `SYSTEM`, or `SYSTEM/USER`. The name of a unit contains no slash.
  package var text: String { user.isEmpty ? system : "\(system)/\(user)" }
}

/// The identity of a peer's process, from the kernel and systemd.
package struct PeerIdentity: Equatable, Sendable {
  /// Copies of an identity share one object, because every question and every outcome contains a copy.
  private final class Storage: Sendable {
    let pid: UInt32
    let uid: UInt32
    let gid: UInt32
    let process: String
    let units: PeerUnits
    let encoded: [UInt8]

    init(_ pid: UInt32, _ uid: UInt32, _ gid: UInt32, _ process: String, _ units: PeerUnits) {
      (self.pid, self.uid, self.gid, self.process, self.units) = (pid, uid, gid, process, units)
      let buffer = ByteBuffer(capacity: 64)
      buffer.append(pid)
      buffer.append(uid)
      buffer.append(gid)
      buffer.appendField(process)
      buffer.appendField(units.text)
      encoded = [UInt8](buffer.bytes)
    }
  }

  private let storage: Storage

  package static let unknown = PeerIdentity(pid: 0, uid: 0, gid: 0, process: "", units: PeerUnits())

  package var pid: UInt32 { storage.pid }
  package var uid: UInt32 { storage.uid }
  package var gid: UInt32 { storage.gid }
  /// The kernel's `comm`, at most 15 bytes. Empty if the process ended before the bus read the name.
  package var process: String { storage.process }
  package var units: PeerUnits { storage.units }

  package init(pid: UInt32, uid: UInt32, gid: UInt32, process: String, units: PeerUnits) {
    storage = Storage(pid, uid, gid, process, units)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    let pid: UInt32 = try reader.integer()
    let uid: UInt32 = try reader.integer()
    let gid: UInt32 = try reader.integer()
    let process = try reader.text()
    storage = Storage(pid, uid, gid, process, PeerUnits(text: try reader.text()))
  }

  package func append(to buffer: ByteBuffer) { buffer.append(storage.encoded) }

  package static func == (one: PeerIdentity, other: PeerIdentity) -> Bool {
    one.storage === other.storage || one.storage.encoded == other.storage.encoded
  }
}

extension PeerIdentity {
  package static let unknownUser = UInt32.max

  package static func gone(of user: UInt32 = unknownUser) -> PeerIdentity {
    PeerIdentity(pid: 0, uid: user, gid: unknownUser, process: "", units: PeerUnits())
  }
}
