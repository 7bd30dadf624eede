// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneTestSupport

final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    // Short, because the kernel limits the paths of sockets.
    path = "/tmp/tribune-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      print("cannot remove \(path): \(error)")
    }
  }

  func write(_ name: String, _ text: String) throws {
    let url = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }
}

extension NotifySocket {
  /// Changes the environment, so the test needs its own process.
  static func ofThisProcess(isAbstract: Bool = false) throws -> NotifySocket {
    let folder = try TemporaryFolder()
    let socket = try NotifySocket(path: isAbstract ? nil : folder.path + "/notify", in: folder)
    unsafe setenv("NOTIFY_SOCKET", socket.address, 1)
    return socket
  }
}
