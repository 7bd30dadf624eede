// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The users that the host knows, wherever it keeps them (nsswitch.conf).
package enum UserDatabase {
  /// Bytes that one entry can need; what a network directory knows of a user can be long.
  private static let entryLengthMax = 1 << 20

  /// The user's id; nil when there is no such user.
  package static func id(of name: String) throws(Errno) -> UInt32? {
    var buffer = [CChar](repeating: 0, count: 1024)
    while true {
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found)
      if result == 0 { return unsafe found?.pointee.pw_uid }
      // getpwnam(3) lists what else says that there is none.
      if [ENOENT, ESRCH, EBADF, EPERM].contains(result) { return nil }
      if result == ERANGE, buffer.count < entryLengthMax {
        buffer = [CChar](repeating: 0, count: 2 * buffer.count)
      } else if result != EINTR {
        throw Errno(rawValue: result)
      }
    }
  }
}
