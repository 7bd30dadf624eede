// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

package enum ThisProcess {
  package static var id: UInt32 { UInt32(getpid()) }
  /// The parent's pid. It is 0 if the parent is outside this PID namespace.
  package static var parent: Int32 { getppid() }
  package static var effectiveUser: UInt32 { geteuid() }

  package static var path: String {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { text in
        unsafe text.baseAddress.map { unsafe readlink("/proc/self/exe", $0, text.count) } ?? 0
      }
    }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Must be called first. Exits if /proc is missing, or threads cannot be started. Without /proc,
  /// libdispatch sometimes crashes; without threads, libdispatch waits for ever.
  ///
  /// - Parameter failure: the exit status in these cases.
  package static func begin(_ program: String, failure: Int32) {
    StandardDescriptors.fill()
    tribune_keep_exit_statuses()
    if unsafe access("/proc/self/stat", R_OK) != 0 {
      StandardError.writeLine("\(program): /proc is needed, and not mounted here: mount -t proc proc /proc")
      exit(failure)
    }
    do throws(Errno) {
      try Thread.requireRoom()
    } catch {
      StandardError.writeLine(
        "\(program): no thread can be started (see ulimit -u, and TasksMax= of systemd): \(error)")
      exit(failure)
    }
  }

  /// True for the users who could control this process anyway.
  package static func isPrivileged(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

  package static var descriptorLimit: Int {
    var limit = rlimit()
    let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return result == 0 ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// Forbids other processes of the same user to inspect this one.
  package static func forbidTracing() { _ = tribune_forbid_tracing() }

  package static func raiseDescriptorLimit() throws(Errno) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    _ = try retrying { unsafe getrlimit(resource, &limit) }
    guard limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    _ = try retrying { unsafe setrlimit(resource, &limit) }
  }

  /// Stops this process, and returns after SIGCONT.
  package static func stop() { kill(getpid(), SIGSTOP) }

  package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

  package static func waitForExit() -> Never {
    while true { pause() }
  }
}
