// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// The process at the other end of a Unix-domain socket. Its id alone may refer to another process by now.
package enum PeerProcess: ~Copyable {
  /// The kernel's handle of the process (a pidfd, since Linux 6.5).
  case handle(FileDescriptor)
  /// The kernel has no such handles.
  case unverified
  /// The process was gone when the handle was requested.
  case gone

  /// - Throws: when the process or the host has no descriptor left.
  package init(peerOf socket: borrowing FileDescriptor) throws(Errno) {
    let socket = socket.rawValue
    var handle: CInt = -1
    var length = socklen_t(MemoryLayout<CInt>.size)
    do throws(Errno) {
      _ = try retrying { unsafe getsockopt(socket, SOL_SOCKET, TRIBUNE_SO_PEERPIDFD, &handle, &length) }
      self = .handle(FileDescriptor(owning: handle))
    } catch  where error.isOutOfResources {
      throw error
    } catch  where error == .noProtocolOption {
      self = .unverified
    } catch {
      self = .gone
    }
  }

  /// Whether the kernel vouches for which process it is.
  package var isVerified: Bool {
    switch self {
    case .handle: true
    case .unverified: false
    case .gone: false
    }
  }

  /// Whether the process has ended. Until then, its id is no other's. False if the kernel has no handles.
  package var hasEnded: Bool {
    switch self {
    case .handle(let handle):
      do throws(Errno) {
        return try Poll.wait(for: handle.rawValue, forWriting: false, timeout: .zero)
      } catch {
        return true
      }
    case .unverified: return false
    case .gone: return true
    }
  }
}
