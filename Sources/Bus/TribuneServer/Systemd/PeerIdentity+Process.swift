// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneService
package import TribuneSystem
package import TribuneWire

nonisolated extension PeerIdentity {
  /// Unknown parts are empty. A part is unknown if the process is in another namespace, or has ended.
  package init(_ credentials: PeerCredentials, _ process: borrowing PeerProcess) {
    let name = ProcessFacts.name(of: credentials.pid)
    let units = PeerUnits(of: credentials.pid)
    // If the process still lives now, its pid was not reused, so the name and units that were just read are
    // its own. Without a pidfd, the bus cannot check whether the process lives (`PeerProcess.hasEnded`), and
    // uses the name and units nevertheless.
    let isKnown = !process.hasEnded
    self.init(
      pid: UInt32(clamping: credentials.pid), uid: credentials.uid, gid: credentials.gid,
      process: isKnown ? name : "", units: isKnown ? units : PeerUnits())
  }

  static func identify(
    _ credentials: PeerCredentials, _ groups: Groups, _ process: borrowing PeerProcess
  ) -> (PeerIdentity, Subject) {
    let peer = PeerIdentity(credentials, process)
    // The pid is 0 if the process is outside the bus's pid namespace.
    let unit = credentials.pid <= 0 ? .unknown : unit(peer.units.system, of: process)
    return (peer, Subject(user: peer.uid, groups: groups, unit: unit))
  }

  static func unit(_ name: String, of process: borrowing PeerProcess) -> Subject.Unit {
    if process.hasEnded { return .unknown }
    if name.isEmpty { return .none }
    return process.isVerified ? .known(name) : .claimed(name)
  }

  /// `name[pid]`, and the units, if any.
  var summary: String {
    let name = process.isEmpty ? "?" : process
    let units = units.text
    return units.isEmpty ? "\(name)[\(pid)]" : "\(name)[\(pid)] in \(units)"
  }
}
