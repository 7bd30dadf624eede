// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem

/// A place at which shells wait until a test lets them go on: a pipe with a name.
final class ShellGate {
  private let folder: TestFolder
  private let pipe: FileDescriptor

  init() throws {
    folder = try TestFolder()
    let path = "\(folder.path)/gate"
    _ = try retrying { unsafe mkfifo(path, 0o600) }
    // Open in both directions: so nobody waits for somebody else to open it.
    pipe = FileDescriptor(owning: try retrying { unsafe Glibc.open(path, O_RDWR | O_CLOEXEC) })
  }

  /// What a shell has to run. A trap does not end that: its signal may have come just before.
  var wait: String { "read _ <\(folder.path)/gate" }

  /// Lets everybody go on, a hundred of them.
  func open() throws {
    let descriptor = pipe.rawValue
    let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 100)
    _ = try retrying { unsafe write(descriptor, lines, lines.count) }
  }
}
