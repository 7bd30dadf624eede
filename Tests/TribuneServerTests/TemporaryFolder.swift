// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneTestSupport

/// A fresh folder that goes away with its owner.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    // Short, because sockets are put into it.
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

  /// Writes a file, and the folders that it needs.
  func write(_ name: String, _ text: String) throws {
    let url = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }
}

extension NotifySocket {
  /// The one that this process notifies. For a process of its own: it changes the environment.
  static func ofThisProcess(isAbstract: Bool = false) throws -> NotifySocket {
    let folder = try TemporaryFolder()
    let socket = try NotifySocket(path: isAbstract ? nil : folder.path + "/notify", in: folder)
    unsafe setenv("NOTIFY_SOCKET", socket.address, 1)
    return socket
  }
}

/// The path of a file of this repository.
func repositoryFile(_ name: String) -> String {
  URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../\(name)")
    .standardizedFileURL.path
}
