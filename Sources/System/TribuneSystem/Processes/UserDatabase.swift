// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Looks users and groups up in the sources of nsswitch.conf(5).
package enum UserDatabase {
  /// The largest size of an entry, in bytes. An entry from a network directory can be long.
  private static let entryLengthMax = 1 << 20

  package static func id(of name: String) throws(Errno) -> UInt32? {
    try unsafe find { buffer, count in
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = unsafe getpwnam_r(name, &entry, buffer, count, &found)
      return (result, unsafe found?.pointee.pw_uid)
    }
  }

  /// Returns nil if the user does not exist.
  package static func user(_ nameOrID: String) throws(Errno) -> (id: UInt32, groups: [UInt32])? {
    try unsafe find { buffer, count in
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result =
        if let id = UInt32(nameOrID) {
          unsafe getpwuid_r(id, &entry, buffer, count, &found)
        } else {
          unsafe getpwnam_r(nameOrID, &entry, buffer, count, &found)
        }
      guard let user = unsafe found?.pointee else { return (result, nil) }
      return (result, unsafe (user.pw_uid, groups(of: user.pw_name, besides: user.pw_gid)))
    }
  }

  private static func groups(of name: UnsafePointer<CChar>, besides group: gid_t) -> [UInt32] {
    var groups = [gid_t](repeating: 0, count: 64)
    while true {
      var count = CInt(groups.count)
      if unsafe getgrouplist(name, group, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
      // `count` is now the number of groups.
      groups = [gid_t](repeating: 0, count: max(2 * groups.count, Int(count)))
    }
  }

  package static func id(ofGroup name: String) throws(Errno) -> UInt32? {
    try unsafe find { buffer, count in
      var entry = unsafe group()
      var found: UnsafeMutablePointer<group>?
      let result = unsafe getgrnam_r(name, &entry, buffer, count, &found)
      return (result, unsafe found?.pointee.gr_gid)
    }
  }

  private static func find<Found>(
    _ call: (UnsafeMutablePointer<CChar>, Int) -> (result: CInt, found: Found?)
  ) throws(Errno) -> Found? {
    var buffer = [CChar](repeating: 0, count: 1024)
    while true {
      let (result, found) = unsafe buffer.withUnsafeMutableBufferPointer { space in
        guard let start = space.baseAddress else { preconditionFailure("the buffer is empty") }
        return unsafe call(start, space.count)
      }
      if result == 0 { return found }
      // These errors also mean "not found": getpwnam(3), getgrnam(3).
      if [ENOENT, ESRCH, EBADF, EPERM].contains(result) { return nil }
      if result == ERANGE, buffer.count < entryLengthMax {
        buffer = [CChar](repeating: 0, count: 2 * buffer.count)
      } else if result != EINTR {
        throw Errno(rawValue: result)
      }
    }
  }
}
