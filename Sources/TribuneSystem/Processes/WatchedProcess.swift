// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A process that this one did not start.
package final class WatchedProcess: Sendable {
  /// Readable when the process has ended.
  private let handle: FileDescriptor

  /// - Throws: ESRCH when there is no such process.
  package init(_ pid: Int32) throws(Errno) {
    handle = FileDescriptor(owning: try retrying { tribune_pidfd_open(pid, 0) })
  }

  /// Returns when the process has ended.
  package func ended() async { await Thread.result(of: wait) }

  private func wait() {
    var hasEnded = false
    while !hasEnded {
      do throws(Errno) {
        hasEnded = try Poll.wait(for: handle.rawValue, forWriting: false)
      } catch {
        preconditionFailure("a process cannot be waited for: \(error)")
      }
    }
  }

  /// The name (comm) of a process, at most 15 bytes; empty if it is not known.
  package static func name(of pid: Int32) -> String {
    guard pid > 0 else { return "" }
    do throws(Errno) {
      let name = try InputFile.contents(of: "/proc/\(pid)/comm", lengthMax: 64, waits: true) ?? []
      return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    } catch {
      return ""
    }
  }
}
