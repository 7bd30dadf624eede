// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem

final class ShellGate {
  private let folder: TestFolder
  private let pipe: FileDescriptor

  init() throws {
    folder = try TestFolder()
    let path = "\(folder.path)/gate"
    _ = try retrying { unsafe mkfifo(path, 0o600) }
    // Opened in both directions, it blocks no open.
    pipe = FileDescriptor(owning: try retrying { unsafe Glibc.open(path, O_RDWR | O_CLOEXEC) })
  }

  /// The command with which a shell waits. A trap cannot end it: its signal could come just before.
  var wait: String { "read _ <\(folder.path)/gate" }

  /// Releases up to 100 shells.
  func open() throws {
    let descriptor = pipe.rawValue
    let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 100)
    _ = try retrying { unsafe write(descriptor, lines, lines.count) }
  }
}
