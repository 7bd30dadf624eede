// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneWire

/// The test's process, as the bus sees it.
enum ThisProcess {
  static var identity: PeerIdentity {
    get throws {
      PeerIdentity(pid: UInt32(getpid()), uid: getuid(), gid: getgid(), process: try comm, unit: try unit)
    }
  }

  /// The number of open memfds with userInfo.
  static func openFiles() throws -> Int { try OpenFiles.memoryFileCount(of: getpid()) }

  private static var comm: String {
    get throws {
      let line = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
      return String(line.prefix { $0 != "\n" })
    }
  }

  /// The innermost unit of its control group.
  private static var unit: String {
    get throws {
      let group = try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
      let path = group.split(separator: "\n").first { $0.hasPrefix("0::") } ?? ""
      let units = path.split(separator: "/").filter { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
      return units.last.map { String($0) } ?? ""
    }
  }
}
