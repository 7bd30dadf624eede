// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

extension TestBus {
  /// The threads of the daemon, as folders of /proc.
  func threads() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").map { "\(pid)/task/\($0)" }
  }

  func waitCounts() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for thread in try threads() {
      let status = try String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8)
      for line in status.split(separator: "\n") where line.hasPrefix("voluntary_ctxt_switches:") {
        counts[thread] = Int(line.filter(\.isNumber))
      }
    }
    return counts
  }

  func processorTicks() throws -> Int {
    let line = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    // The name is in parentheses, and can contain anything. User and system time are fields 14 and 15.
    let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else {
      throw Programs.Missing(description: "/proc/\(pid)/stat is not as expected: \(line)")
    }
    return user + system
  }

  func descriptorLimits() throws -> [Int] {
    try Self.descriptorLimits(in: String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8))
  }

  static func descriptorLimits(in limits: String) throws -> [Int] {
    for line in limits.split(separator: "\n") where line.hasPrefix("Max open files") {
      return line.split(separator: " ").compactMap { Int($0) }
    }
    throw Programs.Missing(description: "there is no limit of open files in \(limits)")
  }
}

/// - Parameter thread: the thread's folder in /proc. That of a process is its first thread.
func isBlocked(_ signal: CInt, in thread: String) throws -> Bool {
  let status = try String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8)
  for line in status.split(separator: "\n") where line.hasPrefix("SigBlk:") {
    if let mask = UInt64(line.dropFirst("SigBlk:".count).drop { $0.isWhitespace }, radix: 16) {
      return mask & 1 << UInt64(signal - 1) != 0
    }
  }
  throw Programs.Missing(description: "/proc/\(thread)/status has no SigBlk")
}

struct FileStatus: Equatable {
  let isSocket: Bool
  let mode: UInt32

  init?(_ path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    isSocket = status.st_mode & S_IFMT == S_IFSOCK
    mode = status.st_mode & 0o777
  }
}
