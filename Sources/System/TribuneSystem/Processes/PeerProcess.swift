// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// The process at the other end of a Unix socket. It may have ended, and another process may have its id.
package enum PeerProcess: ~Copyable {
  /// A pidfd of the process, since Linux 6.5. With earlier kernels, the process is `unverified`.
  case handle(FileDescriptor)
  case unverified
  case gone

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

  package var isVerified: Bool {
    switch self {
    case .handle: true
    case .unverified: false
    case .gone: false
    }
  }

  /// True if the process has ended. Until then, its id is not reused. Always false for `unverified`.
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
