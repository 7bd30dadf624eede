// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The limit of open descriptors of this process.
enum DescriptorLimit {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Raises the limit to so many if need be. The daemon raises its own.
  static func require(_ count: Int) throws {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw Failure(
        description: "the limit of open files cannot be read: \(unsafe String(cString: strerror(errno)))")
    }
    if limit.rlim_cur >= count { return }
    guard limit.rlim_max >= count else {
      throw Failure(
        description: """
          \(count) open files are needed, and this system lets a process have \(limit.rlim_max): \
          the hard limit (ulimit -H -n) has to be raised
          """)
    }
    limit.rlim_cur = rlim_t(count)
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw Failure(
        description: "\(count) open files are refused: \(unsafe String(cString: strerror(errno)))")
    }
  }
}
