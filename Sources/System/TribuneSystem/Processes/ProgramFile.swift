// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Finds executables as execve(2) and posix_spawnp(3) do.
package enum ProgramFile {
  package static var searchPath: String { Environment.value(of: "PATH") ?? "/bin:/usr/bin" }

  /// Throws the error with which a start of the program would fail. Also checks a script's interpreter.
  package static func check(_ name: [UInt8]) throws(Errno) {
    let slash = UInt8(ascii: "/")
    if name.contains(slash) { return try checkFile(name) }
    guard !name.isEmpty else { throw .noSuchFile }
    var reason = Errno.noSuchFile
    for folder in searchPath.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
      do throws(Errno) {
        return try checkFile(folder.isEmpty ? name : Array(folder) + [slash] + name)
      } catch {
        if error == .accessDenied { reason = error }
      }
    }
    throw reason
  }

  private static func checkFile(_ path: [UInt8]) throws(Errno) {
    _ = try retrying { unsafe faccessat(AT_FDCWD, Folder.cString(path), X_OK, AT_EACCESS) }
    guard Folder.kind(of: path) == .program else { throw .accessDenied }
    if let interpreter = interpreter(of: path), Folder.kind(of: interpreter) != .program { throw .noSuchFile }
  }

  private static func interpreter(of path: [UInt8]) -> [UInt8]? {
    let number = unsafe open(Folder.cString(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    // The kernel looks for an interpreter in the first 256 bytes of a script.
    var start = [UInt8](repeating: 0, count: 256)
    let count = unsafe read(file.rawValue, &start, start.count)
    file.close()
    let line = start.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
    guard line.starts(with: "#!".utf8) else { return nil }
    return line.dropFirst(2).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.first.map(
      Array.init)
  }
}
