// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneTestSupport

/// A real keeper, ready when `init` returns, and ended with its last user.
final class TestKeeper {
  let path: String
  let program: RunningProgram

  /// - Parameters:
  ///   - folder: where its socket is; the last keeper there has gone.
  ///   - wrapper: a command that starts the keeper, which is appended to it.
  init(in folder: TestFolder, wrapper: [String] = []) throws {
    path = "\(folder.path)/keeper"
    let notifications = try NotifySocket(path: nil)
    program = try RunningProgram(
      wrapper + [try Programs.path(of: "tribuned"), "--keep", "--listen=\(path)"],
      environment: ["NOTIFY_SOCKET": notifications.address])
    try notifications.wait(for: "READY=1")
  }

  /// The most descriptors that it holds are so many.
  static func limited(to count: Int, in folder: TestFolder) throws -> TestKeeper {
    // It needs some itself.
    try TestKeeper(in: folder, wrapper: ["/usr/bin/prlimit", "--nofile=\(64 + count)"])
  }

  /// Kills it, and waits until it has gone.
  func die() { program.end(SIGKILL) }
}
