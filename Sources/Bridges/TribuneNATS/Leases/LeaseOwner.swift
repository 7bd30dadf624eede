// SPDX-License-Identifier: Apache-2.0

/// A host that has a lease, and for whom it took it; or a client of FleetLock.
nonisolated package struct LeaseOwner: Equatable, Sendable {
  /// Bytes that each of its texts can have.
  package static let textMax = 255

  /// The name of the host, or of the client.
  package var host: String
  /// Distinguishes this acquisition from all others: 32 hexadecimal digits.
  package var id: String
  /// The machine, which another one of the same name is not; empty for a client of FleetLock.
  package var machine: String
  /// The boot of the host, as the kernel calls it.
  package var boot: String
  /// The process that uses the lease; 0 if none does.
  package var pid: Int
  /// When that process started, in ticks since the boot; 0 if that is not known.
  package var start: Int
  /// What the process does, for people; so are all that follow.
  package var label: String
  package var uid: Int
  package var unit: String
  /// Seconds since 1970, by the host's own clock. Nothing is decided by it.
  package var since: Int

  package init(
    host: String, id: String, machine: String = "", boot: String, pid: Int = 0, start: Int = 0,
    label: String = "", uid: Int = 0,
    unit: String = "", since: Int = 0
  ) {
    (self.host, self.id, self.machine) = (host, id, machine)
    (self.boot, self.pid, self.start) = (boot, pid, start)
    (self.label, self.uid, self.unit, self.since) = (label, uid, unit, since)
  }

  /// Whether a text can be the name of an owner.
  package static func isName(_ text: String) -> Bool {
    Subjects.isToken(text) || FleetLockClient.isOwner(text)
  }
}
