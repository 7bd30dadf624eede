// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneService
package import TribuneSystem
package import TribuneWire

nonisolated extension PeerIdentity {
  /// Adds what the kernel and systemd know about the process now. Unknown parts are empty: the process may be in
  /// another namespace, or may have ended since it connected.
  package init(_ credentials: PeerCredentials, _ process: borrowing PeerProcess) {
    let name = ProcessFacts.name(of: credentials.pid)
    let units = PeerUnits(of: credentials.pid)
    // Until here, the id was that of the process, if it still is: another process gets it only after this one is gone.
    let isKnown = !process.hasEnded
    self.init(
      pid: UInt32(clamping: credentials.pid), uid: credentials.uid, gid: credentials.gid,
      process: isKnown ? name : "", units: isKnown ? units : PeerUnits())
  }

  /// What is shown of a peer, and whom the policy decides about.
  static func identify(
    _ credentials: PeerCredentials, _ groups: Groups, _ process: borrowing PeerProcess
  ) -> (PeerIdentity, Subject) {
    let peer = PeerIdentity(credentials, process)
    // Nothing is known of a process in another namespace.
    let unit = credentials.pid <= 0 ? .unknown : unit(peer.units.system, of: process)
    return (peer, Subject(user: peer.uid, groups: groups, unit: unit))
  }

  /// - Parameter name: the unit that its process id is in; empty if none.
  static func unit(_ name: String, of process: borrowing PeerProcess) -> Subject.Unit {
    if process.hasEnded { return .unknown }
    if name.isEmpty { return .none }
    return process.isVerified ? .known(name) : .claimed(name)
  }

  /// `name[pid]`, with the units, if there are any.
  var summary: String {
    let name = process.isEmpty ? "?" : process
    let units = units.text
    return units.isEmpty ? "\(name)[\(pid)]" : "\(name)[\(pid)] in \(units)"
  }
}
