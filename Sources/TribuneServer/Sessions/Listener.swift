// SPDX-License-Identifier: Apache-2.0

package import Glibc
package import TribuneSystem

/// The file of a listening socket, as the kernel tells it from others.
nonisolated package struct SocketFile: Equatable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// The file at `path`; nil if there is none.
  package init?(at path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}

/// A listening socket: one that systemd passed, or one with a file of the daemon's own.
package final class Listener {
  package enum Failure: Error, CustomStringConvertible {
    case alreadyServed(path: String, pid: pid_t)
    case notASocket(path: String)
    case failed(path: String, Errno)

    package var description: String {
      switch self {
      case .alreadyServed(let path, let pid): "\(path): a bus with pid \(pid) answers there already"
      case .notASocket(let path): "\(path): there is a file that is no socket"
      case .failed(let path, let error): "\(path): \(error)"
      }
    }
  }

  package let descriptor: FileDescriptor
  /// Where it is, as this process finds it.
  package let path: String
  /// Which file is ours to remove; nil for a socket that was passed.
  private var file: SocketFile?

  /// Takes over a listening socket that somebody else made and removes.
  package init(passed descriptor: consuming FileDescriptor, path: String) throws(Errno) {
    try descriptor.setNonblocking()
    self.descriptor = descriptor
    self.path = path
  }

  /// Takes over a listening socket from another daemon.
  ///
  /// - Parameter file: the one that is ours to remove from then on; nil if that is somebody else's.
  package convenience init(
    takenOver descriptor: consuming FileDescriptor, path: String, file: SocketFile?
  ) throws(Errno) {
    try self.init(passed: descriptor, path: path)
    self.file = file
    // From now on, whoever connects is told that this process listens.
    if file != nil { try UnixSocket.listen(self.descriptor) }
  }

  /// Makes a socket at `path`, in place of one that nobody listens on any more. Its folder is made if
  /// it is missing.
  ///
  /// - Parameter mode: the file's permission bits, which it has from the start.
  package init(path: String, mode: mode_t) throws(Failure) {
    self.path = path
    let folder = path.lastIndex(of: "/").map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
    let failure: Failure?
    do throws(Errno) {
      if unsafe mkdir(folder, 0o755) == -1, errno != EEXIST { throw Errno.current }
      descriptor = try UnixSocket.make(nonblocking: true)
      failure = try bind(in: folder, mode: mode)
    } catch {
      throw .failed(path: path, error)
    }
    if let failure { throw failure }
  }

  /// While the folder is locked, no other daemon can take the stale file, or ours, for its own.
  ///
  /// - Returns: why the path cannot be used, if it cannot.
  private func bind(in folder: String, mode: mode_t) throws(Errno) -> Failure? {
    let lock = FileDescriptor(
      owning: try retrying { unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    _ = try retrying { flock(lock.rawValue, LOCK_EX) }
    if let failure = try removeStaleFile() { return failure }
    let mask = umask(0o777 & ~mode)
    defer { umask(mask) }
    try UnixSocket.bind(descriptor, to: path)
    try UnixSocket.listen(descriptor)
    file = SocketFile(at: path)
    return nil
  }

  /// Removes a socket's file that nobody listens on.
  ///
  /// - Returns: why the path cannot be used, if it cannot.
  private func removeStaleFile() throws(Errno) -> Failure? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFSOCK else { return .notASocket(path: path) }
    let probe = try UnixSocket.make(nonblocking: true)
    do throws(Errno) {
      try UnixSocket.connect(probe, to: path)
    } catch  where error == .connectionRefused {
      _ = try retrying { unsafe unlink(path) }
      return nil
    } catch  where error == .again {
      // Somebody listens, with more waiting than it takes.
      return .alreadyServed(path: path, pid: 0)
    }
    return .alreadyServed(path: path, pid: try UnixSocket.peer(of: probe).pid)
  }

  /// Changes the permission bits of the socket's file, if it is still the one that was made.
  package func setMode(_ mode: mode_t) throws(Errno) {
    guard fileIsOurs else { return }
    _ = try retrying { unsafe chmod(path, mode) }
  }

  /// Removes the socket's file, if it is still the one that was made.
  package func removeFile() {
    if fileIsOurs { unsafe unlink(path) }
    file = nil
  }

  /// The socket's file, if it is the one that was made, and ours to remove.
  package var ownFile: SocketFile? { fileIsOurs ? file : nil }

  private var fileIsOurs: Bool { file != nil && SocketFile(at: path) == file }
}
