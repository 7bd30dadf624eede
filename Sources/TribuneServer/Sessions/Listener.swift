// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

/// A listening socket: one that systemd passed, or one with a file of the daemon's own.
package final class Listener {
  package enum Failure: Error, CustomStringConvertible {
    case alreadyServed(path: String, pid: Int32)
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

  /// Takes over a listening socket from another daemon. Its file is ours to remove from then on.
  package convenience init(
    takenOver descriptor: consuming FileDescriptor, path: String, file: SocketFile
  ) throws(Errno) {
    try self.init(passed: descriptor, path: path)
    self.file = file
    // From now on, whoever connects is told that this process listens.
    try UnixSocket.listen(self.descriptor)
  }

  /// Makes a socket at `path`, in place of one that nobody listens on any more. Its folder is made if
  /// it is missing.
  ///
  /// - Parameter mode: the file's permission bits, which it has from the start.
  package init(path: String, mode: UInt32) throws(Failure) {
    self.path = path
    let folder = Folder.parent(of: path)
    let failure: Failure?
    do throws(Errno) {
      try Folder.make(folder, mode: 0o755)
      descriptor = try UnixSocket.make(nonblocking: true)
      failure = try Folder.withLock(folder) { () throws(Errno) in try bind(mode: mode) }
    } catch {
      throw .failed(path: path, error)
    }
    if let failure { throw failure }
  }

  /// Must be called while the folder is locked, so that no other daemon takes the stale file, or ours, for its own.
  ///
  /// - Returns: why the path cannot be used, if it cannot.
  private func bind(mode: UInt32) throws(Errno) -> Failure? {
    if let failure = try removeStaleFile() { return failure }
    try UnixSocket.bind(descriptor, to: path, mode: mode)
    try UnixSocket.listen(descriptor)
    file = SocketFile(at: path)
    return nil
  }

  /// Removes a socket's file that nobody listens on.
  ///
  /// - Returns: why the path cannot be used, if it cannot.
  private func removeStaleFile() throws(Errno) -> Failure? {
    guard let isSocket = SocketFile.isSocket(at: path) else { return nil }
    guard isSocket else { return .notASocket(path: path) }
    let probe = try UnixSocket.make(nonblocking: true)
    do throws(Errno) {
      try UnixSocket.connect(probe, to: path)
    } catch  where error == .connectionRefused {
      try SocketFile.remove(at: path)
      return nil
    } catch  where error == .again {
      // Somebody listens, with more waiting than it takes.
      return .alreadyServed(path: path, pid: 0)
    }
    return .alreadyServed(path: path, pid: try UnixSocket.peer(of: probe).pid)
  }

  /// Changes the permission bits of the socket's file, if it is still the one that was made.
  package func setMode(_ mode: UInt32) throws(Errno) {
    if fileIsOurs { try SocketFile.setMode(mode, at: path) }
  }

  /// Removes the socket's file, if it is still the one that was made.
  package func removeFile() {
    defer { file = nil }
    guard fileIsOurs else { return }
    do throws(Errno) {
      try SocketFile.remove(at: path)
    } catch {
      // The next daemon removes a file that nobody listens on.
      return
    }
  }

  /// The socket's file, if it is the one that was made, and ours to remove.
  package var ownFile: SocketFile? { fileIsOurs ? file : nil }

  private var fileIsOurs: Bool { file != nil && SocketFile(at: path) == file }
}
