// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A process that is not a child of this one.
package final class WatchedProcess: Sendable {
  private let handle: FileDescriptor

  package init(_ pid: Int32) throws(Errno) {
    handle = FileDescriptor(owning: try retrying { tribune_pidfd_open(pid, 0) })
  }

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
}
