// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The error of a system call.
package struct Errno: Error, Equatable, Sendable, CustomStringConvertible {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// The calling thread's `errno`.
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
  /// This user has too many descriptors in flight through sockets.
  package static let tooManyPassed = Errno(rawValue: ETOOMANYREFS)
  package static let fileTooBig = Errno(rawValue: EFBIG)
  package static let tooManyDescriptors = Errno(rawValue: EMFILE)
  package static let inputOutput = Errno(rawValue: EIO)
  package static let noProtocolOption = Errno(rawValue: ENOPROTOOPT)
  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchProcess = Errno(rawValue: ESRCH)
  package static let outOfRange = Errno(rawValue: ERANGE)
  package static let timedOut = Errno(rawValue: ETIMEDOUT)

  /// The process or the host has no descriptor or no memory left for another socket. Accepting must then wait.
  package var isOutOfResources: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(rawValue) }

  /// The peer is gone, by either of the kernel's errors for it.
  package var isDisconnection: Bool { self == .connectionReset || self == .brokenPipe }
}

/// Runs a system call that returns -1 on failure, and repeats it while a signal interrupts it.
package func retrying<T: SignedInteger>(_ call: () -> T) throws(Errno) -> T {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.current
    if error != .interrupted { throw error }
  }
}
