// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum InputFile {
  /// Returns the first line. It is empty if the file is unreadable, or longer than 64 bytes.
  static func line(of path: String) -> String {
    do throws(Errno) {
      let line = try contents(of: path, lengthMax: 64, waits: false) ?? []
      return String(decoding: line.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    } catch {
      return ""
    }
  }

  package static func isForbidden(_ path: String) -> Bool {
    unsafe access(path, R_OK) == -1 && errno == EACCES
  }

  /// Returns nil if the file is longer than `lengthMax` bytes. If `waits` is true, opening a pipe blocks
  /// until the pipe has a writer.
  package static func contents(of path: String, lengthMax: Int, waits: Bool) throws(Errno) -> [UInt8]? {
    let flags = O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK)
    let file = FileDescriptor(owning: try retrying { unsafe open(path, flags) })
    let descriptor = file.rawValue
    var contents: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = try retrying { unsafe read(descriptor, &chunk, chunk.count) }
      if count == 0 { return contents }
      contents += chunk.prefix(count)
      if contents.count > lengthMax { return nil }
    }
  }
}
