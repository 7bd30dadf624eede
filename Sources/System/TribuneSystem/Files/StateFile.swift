// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A small file that is always replaced as a whole.
package enum StateFile {
  /// Writes `path.new`, then renames it to `path`. Only its owner can read the file.
  package static func write(_ contents: [UInt8], to path: String) throws(Errno) {
    let temporary = path + ".new"
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
    let file = FileDescriptor(owning: try retrying { unsafe open(temporary, flags, 0o600) })
    let descriptor = file.rawValue
    var rest = contents[...]
    while !rest.isEmpty {
      let count = try retrying {
        unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(count)
    }
    file.close()
    _ = try retrying { unsafe rename(temporary, path) }
  }
}
