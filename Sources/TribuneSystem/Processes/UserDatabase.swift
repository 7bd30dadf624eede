// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The users that the host knows, from the sources in nsswitch.conf(5).
package enum UserDatabase {
  /// The largest size of one entry in bytes; an entry from a network directory can be long.
  private static let entryLengthMax = 1 << 20

  /// The user's id; nil when there is no such user.
  package static func id(of name: String) throws(Errno) -> UInt32? {
    var buffer = [CChar](repeating: 0, count: 1024)
    while true {
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found)
      if result == 0 { return unsafe found?.pointee.pw_uid }
      // getpwnam(3) lists these as other ways to report that there is none.
      if [ENOENT, ESRCH, EBADF, EPERM].contains(result) { return nil }
      if result == ERANGE, buffer.count < entryLengthMax {
        buffer = [CChar](repeating: 0, count: 2 * buffer.count)
      } else if result != EINTR {
        throw Errno(rawValue: result)
      }
    }
  }
}
