// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// This process: its identity, its limits and its end.
package enum ThisProcess {
  package static var id: UInt32 { UInt32(getpid()) }
  /// The process that started this one; 0 if it is outside of this namespace.
  package static var parent: Int32 { getppid() }
  package static var effectiveUser: UInt32 { geteuid() }

  /// The file of the program.
  package static var path: String {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { text in
        unsafe text.baseAddress.map { unsafe readlink("/proc/self/exe", $0, text.count) } ?? 0
      }
    }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Gives a program what it needs before anything else: its standard descriptors, and words where it cannot run. Without
  /// /proc, libdispatch crashes now and then.
  package static func begin(_ program: String) {
    StandardDescriptors.fill()
    guard unsafe access("/proc/self/stat", R_OK) != 0 else { return }
    StandardError.writeLine("\(program): /proc is needed, and not mounted here: mount -t proc proc /proc")
    exit(255)
  }

  /// Whether a user could control this process anyway: root, and the user that runs it.
  package static func isPrivileged(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

  package static var descriptorLimit: Int {
    var limit = rlimit()
    let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return result == 0 ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// From now on, other processes of the same user can neither inspect nor trace it.
  package static func forbidTracing() { _ = tribune_forbid_tracing() }

  package static func raiseDescriptorLimit() throws(Errno) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    _ = try retrying { unsafe getrlimit(resource, &limit) }
    guard limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    _ = try retrying { unsafe setrlimit(resource, &limit) }
  }

  /// Stops the process, as SIGSTOP does. Returns when it has been continued.
  package static func stop() { kill(getpid(), SIGSTOP) }

  /// Ends the process, after what was printed has been written.
  package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

  /// Keeps the calling thread waiting until another one ends the process.
  package static func waitForExit() -> Never {
    while true { pause() }
  }
}
