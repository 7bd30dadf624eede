// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Facts about a process from proc(5).
package struct ProcessFacts: Equatable, Sendable {
  /// The effective user, which the kernel also reports for sockets.
  package var user: UInt32
  package var groups: [UInt32]
  package var unit: String?

  package init(user: UInt32, groups: [UInt32], unit: String?) {
    (self.user, self.groups, self.unit) = (user, groups, unit)
  }

  package init?(of pid: Int32) throws(Errno) {
    let status: [UInt8]?
    let cgroup: [UInt8]?
    do throws(Errno) {
      status = try InputFile.contents(of: "/proc/\(pid)/status", lengthMax: 1 << 20, waits: false)
      cgroup = try InputFile.contents(of: "/proc/\(pid)/cgroup", lengthMax: 1 << 16, waits: false)
    } catch  where error == .noSuchFile || error == .noSuchProcess {
      return nil
    }
    self.init(
      status: String(decoding: status ?? [], as: UTF8.self),
      cgroup: String(decoding: cgroup ?? [], as: UTF8.self))
  }

  package init?(status: String, cgroup: String) {
    func numbers(_ field: String) -> [UInt32] {
      let line = status.split(separator: "\n").first { $0.hasPrefix("\(field):") }
      return line?.dropFirst(field.count + 1).split { $0 == "\t" || $0 == " " }.compactMap { UInt32($0) }
        ?? []
    }
    let (users, groups) = (numbers("Uid"), numbers("Gid"))
    // A field has the real, the effective, the saved and the file system's id, in this order.
    guard users.count == 4, groups.count == 4 else { return nil }
    self.init(user: users[1], groups: [groups[1]] + numbers("Groups"), unit: Self.unit(in: cgroup))
  }

  /// Returns the first part of the path that is not a slice. systemd finds a unit in the same way.
  private static func unit(in cgroup: String) -> String? {
    units(in: cgroup).first.flatMap { $0.contains(".") ? $0 : nil }
  }

  /// This process's innermost unit, which may belong to a user's service manager.
  package static var innermostUnit: String? {
    do throws(Errno) {
      let cgroup = try InputFile.contents(of: "/proc/self/cgroup", lengthMax: 1 << 16, waits: false)
      return units(in: String(decoding: cgroup ?? [], as: UTF8.self)).last {
        $0.hasSuffix(".service") || $0.hasSuffix(".scope")
      }
    } catch {
      return nil
    }
  }

  private static func units(in cgroup: String) -> [String] {
    let lines = cgroup.split(separator: "\n")
    guard
      let line = lines.first(where: { $0.hasPrefix("0::") })
        ?? lines.first(where: { $0.contains("name=systemd") }),
      let path = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).last
    else { return [] }
    // Splits bytes, not characters: a user can choose names of control groups, and a combining character
    // would hide the slash before it.
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    // systemd adds the prefix _ to a name that the kernel reserves.
    return parts.filter { !$0.hasSuffix(".slice") }.map { String($0.hasPrefix("_") ? $0.dropFirst() : $0) }
  }

  /// Returns the name of a process, at most 15 bytes. It is empty if unknown.
  package static func name(of pid: Int32) -> String {
    pid > 0 ? InputFile.line(of: "/proc/\(pid)/comm") : ""
  }

  package static func exists(_ pid: Int32) -> Bool {
    do throws(Errno) {
      _ = try WatchedProcess(pid)
      return true
    } catch {
      return error != .noSuchProcess
    }
  }

  /// Returns the time at which the process started, in ticks since boot, or 0 if it is unknown.
  package static func startTicks(of pid: Int32) -> Int { number(22, of: pid) }

  /// True if `pid` is an ancestor of this process: its parent, the parent of its parent, and so on.
  package static func isAncestor(_ pid: Int32) -> Bool {
    var ancestor = ThisProcess.parent
    while ancestor > 0, ancestor != pid { ancestor = Int32(clamping: number(4, of: ancestor)) }
    return ancestor > 0
  }

  /// Returns a number from proc_pid_stat(5), or 0 if it is unknown. `field` counts from 1, and must be at
  /// least 3: fields 1 and 2 are the pid and the name.
  private static func number(_ field: Int, of pid: Int32) -> Int {
    guard pid > 0 else { return 0 }
    do throws(Errno) {
      let stat = try InputFile.contents(of: "/proc/\(pid)/stat", lengthMax: 4_096, waits: false) ?? []
      // The second field is the name in parentheses. It can contain any bytes, but no other field contains a
      // parenthesis.
      let fields = stat.split(separator: UInt8(ascii: ")")).last?.split(separator: UInt8(ascii: " ")) ?? []
      return fields.count > field - 3 ? Int(String(decoding: fields[field - 3], as: UTF8.self)) ?? 0 : 0
    } catch {
      return 0
    }
  }
}
