// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Functions for folders and paths. A path or name in `[UInt8]` need not be valid UTF-8.
package enum Folder {
  package enum Kind: Equatable, Sendable {
    case folder
    /// This process may execute the file.
    case program
    /// Only other users may execute the file.
    case othersProgram
    /// The file is not executable for any user.
    case plainFile
    case pipe
    case other

    package var isProgram: Bool { self == .program || self == .othersProgram }
  }

  package static func names(in path: [UInt8]) throws(Errno) -> [[UInt8]] {
    guard let folder = unsafe opendir(cString(path)) else { throw .current }
    defer { unsafe closedir(folder) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(folder) else {
        if errno != 0 { throw .current }
        return names
      }
      // A name may exceed the array that <dirent.h> declares.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
        preconditionFailure("the field d_name has no offset")
      }
      let start = unsafe UnsafeRawPointer(entry) + offset
      let length = unsafe strlen(start.assumingMemoryBound(to: CChar.self))
      let name = unsafe Array(UnsafeRawBufferPointer(start: start, count: length))
      if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
    }
  }

  /// True for hidden files, editors' backups, and temporary and old files of package tools.
  package static func isLeftover(_ name: [UInt8]) -> Bool {
    if name.first == UInt8(ascii: ".") || name.last == UInt8(ascii: "~") { return true }
    let text = String(decoding: name, as: UTF8.self)
    guard let suffix = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    return [".dpkg-", ".rpm"].contains { text[suffix...].hasPrefix($0) }
  }

  /// Follows symbolic links. Returns nil if the path cannot be examined.
  package static func kind(of path: [UInt8]) -> Kind? {
    var status = stat()
    guard unsafe stat(cString(path), &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return .folder
    case S_IFREG where unsafe faccessat(AT_FDCWD, cString(path), X_OK, AT_EACCESS) == 0: return .program
    case S_IFREG where status.st_mode & 0o111 != 0: return .othersProgram
    case S_IFREG: return .plainFile
    case S_IFIFO: return .pipe
    default: return .other
    }
  }

  /// True if the path does not exist. False also if the path cannot be examined.
  package static func lacks(_ path: [UInt8]) -> Bool {
    var status = stat()
    return unsafe stat(cString(path), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// Like `lacks`, but false for a dangling link.
  package static func lacksEntry(_ path: [UInt8]) -> Bool {
    var status = stat()
    return unsafe lstat(cString(path), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// True for a symbolic link, even if it is dangling.
  package static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  package static func isLink(_ path: [UInt8]) -> Bool { target(ofLink: path) != nil }

  private static let linksMax = 40

  /// Calls `visit` for each folder in which the kernel looks up a name to find `path`. If the name is a
  /// symbolic link, this function reads the link only after the visit. A watch that `visit` begins therefore
  /// reports every change of the link after the reading.
  package static func forEachStep(to path: [UInt8], _ visit: (_ folder: [UInt8], _ name: [UInt8]) -> Void) {
    let slash = UInt8(ascii: "/")
    var folder = path.first == slash ? [] : [UInt8(ascii: ".")]
    var rest = path.split(separator: slash).reversed().map { Array($0) }
    var linksLeft = linksMax
    while let name = rest.popLast() {
      visit(folder.isEmpty ? [slash] : folder, name)
      if let target = target(ofLink: folder + [slash] + name) {
        linksLeft -= 1
        if linksLeft < 0 { return }
        if target.first == slash { folder = [] }
        rest += target.split(separator: slash).reversed().map { Array($0) }
      } else {
        // The folder's path may contain "..", which the kernel resolves.
        folder += [slash] + name
      }
    }
  }

  /// Nil if `path` is not a symbolic link.
  package static func target(ofLink path: [UInt8]) -> [UInt8]? {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(cString(path), &target, target.count)
    return count < 0 ? nil : target.prefix(count).map { UInt8(bitPattern: $0) }
  }

  package static func link(_ path: String, to target: String) throws(Errno) {
    _ = try retrying { unsafe symlink(target, path) }
  }

  /// Puts the working folder before a relative path. If the working folder was removed, returns `path`.
  package static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let current = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(current) }
    return unsafe "\(String(cString: current))/\(path)"
  }

  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  package static func make(_ path: String, mode: UInt32) throws(Errno) {
    do throws(Errno) {
      _ = try retrying { unsafe mkdir(path, mode) }
    } catch  where error == .fileExists {
      return
    }
  }

  /// Runs `body` with the folder's lock. Other daemons hold the lock briefly, but any process that can read
  /// the folder could hold it for ever. If the lock is not free within `limit`, `body` runs without it.
  package static func withLock<Result>(
    _ path: String, within limit: Duration = .seconds(5), _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let folder = FileDescriptor(
      owning: try retrying { unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    let descriptor = folder.rawValue
    let end = SuspendingClock.now.advanced(by: limit)
    while try !lock(descriptor), SuspendingClock.now < end { Thread.sleep(milliseconds: 1) }
    let result = try body()
    folder.close()
    return result
  }

  private static func lock(_ descriptor: CInt) throws(Errno) -> Bool {
    do throws(Errno) {
      _ = try retrying { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch  where error == .again {
      return false
    }
  }

  static func cString(_ path: [UInt8]) -> [CChar] {
    path.map { CChar(bitPattern: $0) } + [0]
  }
}
