// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program as a script or a unit starts it, timed from its spawn.
struct SpawnedProgram {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let pid: pid_t
  /// When the call was made, on the monotonic clock.
  let began: UInt64

  static let devNull = "/dev/null"

  /// - Parameters:
  ///   - command: the program's path and its arguments.
  ///   - variables: beside those of this process.
  ///   - input: the file that is its input.
  ///   - output: the file that gets its output.
  init(
    _ command: [String], variables: [String: String] = [:], input: String = devNull, output: String = devNull
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, file) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, Self.devNull)]
    {
      _ = unsafe posix_spawn_file_actions_addopen(&actions, descriptor, file, O_RDWR, 0)
    }
    // The program must not inherit blocked signals from a thread of this process.
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    _ = unsafe posix_spawnattr_init(&attributes)
    defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
    _ = unsafe sigemptyset(&none)
    _ = unsafe posix_spawnattr_setsigmask(&attributes, &none)
    _ = unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    let arguments = unsafe Self.strings(command)
    let entries = unsafe Self.strings(environment.map { "\($0)=\($1)" })
    defer {
      unsafe Self.release(arguments)
      unsafe Self.release(entries)
    }
    var pid: pid_t = 0
    began = Self.now
    let result = unsafe posix_spawn(&pid, command[0], &actions, &attributes, arguments, entries)
    guard result == 0 else {
      throw Failure(
        description: "\(command[0]) could not be started: \(unsafe String(cString: strerror(result)))")
    }
    self.pid = pid
  }

  /// Copies with a nil behind them. The caller frees them.
  private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    unsafe texts.map { unsafe strdup($0) } + [nil]
  }

  private static func release(_ strings: [UnsafeMutablePointer<CChar>?]) {
    for index in unsafe strings.indices { unsafe free(strings[index]) }
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Nanoseconds since the process was made.
  var age: UInt64 { Self.now - began }

  /// Waits until it has ended.
  ///
  /// - Returns: whether it ended with status 0.
  func waitForEnd() -> Bool {
    var status: CInt = 0
    while unsafe waitpid(pid, &status, 0) == -1, errno == EINTR {}
    return status == 0
  }
}
