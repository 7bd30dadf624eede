// SPDX-License-Identifier: Apache-2.0

import Glibc

package struct Errno: Error, Equatable, Sendable, CustomStringConvertible {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  package static var current: Errno { Errno(rawValue: errno) }

  package var description: String { unsafe String(cString: strerror(rawValue)) }

  package static let again = Errno(rawValue: EAGAIN)
  package static let interrupted = Errno(rawValue: EINTR)
  package static let connectionReset = Errno(rawValue: ECONNRESET)
  package static let brokenPipe = Errno(rawValue: EPIPE)
  package static let addressInUse = Errno(rawValue: EADDRINUSE)
  package static let connectionRefused = Errno(rawValue: ECONNREFUSED)
  package static let accessDenied = Errno(rawValue: EACCES)
  package static let noSuchFile = Errno(rawValue: ENOENT)
  package static let fileExists = Errno(rawValue: EEXIST)
  package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  package static let connectionAborted = Errno(rawValue: ECONNABORTED)
  /// The user has too many descriptors in flight (unix(7)).
  package static let tooManyPassed = Errno(rawValue: ETOOMANYREFS)
  package static let fileTooBig = Errno(rawValue: EFBIG)
  package static let tooManyDescriptors = Errno(rawValue: EMFILE)
  package static let inputOutput = Errno(rawValue: EIO)
  package static let noProtocolOption = Errno(rawValue: ENOPROTOOPT)
  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchProcess = Errno(rawValue: ESRCH)
  package static let outOfRange = Errno(rawValue: ERANGE)
  package static let timedOut = Errno(rawValue: ETIMEDOUT)

  /// True if the system lacks resources now. The same call can succeed later.
  package var isOutOfResources: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(rawValue) }

  /// True if the peer is gone, which the kernel reports by either error.
  package var isDisconnection: Bool { self == .connectionReset || self == .brokenPipe }
}

/// Retries a system call after EINTR.
package func retrying<T: SignedInteger>(_ call: () -> T) throws(Errno) -> T {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.current
    if error != .interrupted { throw error }
  }
}
