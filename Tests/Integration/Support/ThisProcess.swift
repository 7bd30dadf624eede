// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneWire

enum ThisProcess {
  static var identity: PeerIdentity {
    get throws {
      PeerIdentity(pid: UInt32(getpid()), uid: getuid(), gid: getgid(), process: try comm, units: try units)
    }
  }

  static func openFiles() throws -> Int { try OpenFiles.memoryFileCount(of: getpid()) }

  private static var comm: String {
    get throws {
      let line = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
      return String(line.prefix { $0 != "\n" })
    }
  }

  /// The outermost and the innermost unit of its control group; these differ in a user's service manager.
  private static var units: PeerUnits {
    get throws {
      let group = try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
      let path = group.split(separator: "\n").first { $0.hasPrefix("0::") } ?? ""
      let units = path.split(separator: "/").filter { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
      return PeerUnits(
        system: units.first.map(String.init) ?? "",
        user: units.count > 1 ? units.last.map(String.init) ?? "" : "")
    }
  }
}
