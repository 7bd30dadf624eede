// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Removed when its last user releases it. Its path is short enough for sockets.
final class TestFolder {
  let path: String

  convenience init() throws { try self.init(named: "/tmp/tribune-\(UInt32.random(in: .min ... .max))") }

  init(named path: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      print("cannot remove \(path): \(error)")
    }
  }

  func write(_ text: String, to name: String, mode: Int? = nil) throws {
    let file = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    if let mode { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path) }
  }

  func read(_ name: String) throws -> String {
    try String(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"), encoding: .utf8)
  }

  func contains(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }
}
