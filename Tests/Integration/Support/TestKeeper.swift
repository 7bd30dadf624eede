// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneTestSupport

/// A real keeper. It is ready when `init` returns, and is killed when its last user releases it.
final class TestKeeper {
  let path: String
  let program: RunningProgram

  init(in folder: TestFolder, room: Int? = nil) throws {
    path = "\(folder.path)/keeper"
    let notifications = try NotifySocket(path: nil)
    // The keeper needs some descriptors itself.
    let limit = room.map { ["/usr/bin/prlimit", "--nofile=\(64 + $0)"] } ?? []
    program = try RunningProgram(
      limit + [try Programs.path(of: "tribuned"), "--keep", "--listen=\(path)"],
      environment: ["NOTIFY_SOCKET": notifications.address])
    try notifications.wait(for: "READY=1")
  }

  func die() { program.end(SIGKILL) }
}
