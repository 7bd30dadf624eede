// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

/// A listening socket, passed by systemd, or bound by this daemon or an earlier one.
///
/// Since Linux 6.16, the socket refuses descriptors from clients that the bus has not admitted yet, because
/// closing the descriptors of a refused connection can take long.
package final class Listener {
  package enum Failure: Error, CustomStringConvertible {
    case alreadyServed(path: String, pid: Int32)
    case notASocket(path: String)
    case failed(path: String, Errno)

    package var description: String {
      switch self {
      case .alreadyServed(let path, let pid): "\(path): a bus with pid \(pid) answers there already"
      case .notASocket(let path): "\(path): there is a file that is not a socket"
      case .failed(let path, let error): "\(path): \(error)"
      }
    }
  }

  package let descriptor: FileDescriptor
  package let path: String
  private var file: SocketFile?
  /// The file at `path` when listening began, even if systemd made the file.
  private var place: SocketFile?
  package let isVarlink: Bool

  package init(
    passed descriptor: consuming FileDescriptor, path: String, isVarlink: Bool = false
  ) throws(Errno) {
    try descriptor.setNonblocking()
    try UnixSocket.setCanReceiveDescriptors(false, descriptor)
    self.descriptor = descriptor
    self.path = path
    self.isVarlink = isVarlink
    place = SocketFile(at: path)
  }

  package convenience init(
    takenOver descriptor: consuming FileDescriptor, path: String, file: SocketFile, isVarlink: Bool = false
  ) throws(Errno) {
    try self.init(passed: descriptor, path: path, isVarlink: isVarlink)
    (self.file, place) = (file, file)
    // After this listen(2), new clients see this process as their peer (SO_PEERCRED).
    try UnixSocket.listen(self.descriptor)
  }

  /// Replaces a stale file, and makes the folder if it is missing.
  ///
  /// - Parameter mode: the permission bits of the file, which at no time has other bits.
  package init(path: String, mode: UInt32, isVarlink: Bool = false) throws(Failure) {
    self.path = path
    self.isVarlink = isVarlink
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

  /// Must be called with the folder locked. Without the lock, two daemons could find the same stale file, and
  /// one could then remove the other's new file.
  private func bind(mode: UInt32) throws(Errno) -> Failure? {
    if let failure = try removeStaleFile() { return failure }
    try UnixSocket.bind(descriptor, to: path, mode: mode)
    try UnixSocket.setCanReceiveDescriptors(false, descriptor)
    try UnixSocket.listen(descriptor)
    file = SocketFile(at: path)
    place = file
    return nil
  }

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
      // A process listens, and its backlog is full.
      return .alreadyServed(path: path, pid: 0)
    }
    return .alreadyServed(path: path, pid: try UnixSocket.peer(of: probe).pid)
  }

  package func setMode(_ mode: UInt32) throws(Errno) {
    if fileIsOurs { try SocketFile.setMode(mode, at: path) }
  }

  package func removeFile() {
    defer { file = nil }
    guard fileIsOurs else { return }
    do throws(Errno) {
      try SocketFile.remove(at: path)
    } catch {
      // The next daemon removes a stale file.
      return
    }
  }

  /// True if the path leads to this listener, or led to no file when listening began.
  var isReached: Bool { place == nil || SocketFile(at: path) == place }

  /// False for a listener that systemd has passed.
  var isOwn: Bool { file != nil }

  /// The listener's file. Nil if systemd made the file, or if `path` no longer leads to it.
  package var ownFile: SocketFile? { fileIsOurs ? file : nil }

  private var fileIsOurs: Bool { file != nil && SocketFile(at: path) == file }
}
