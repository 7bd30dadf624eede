// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
package import TribuneSystem
import TribuneWire

/// The descriptors that systemd passed to the daemon at its start (sd_listen_fds(3)): the sockets to listen on, and
/// then, in any order, what an earlier process stored (`DescriptorStore`).
///
/// It owns the descriptors that have not been taken from it, and closes them in the end.
nonisolated package final class PassedAtStart {
  /// A listening socket. Whoever takes it owns and closes it.
  package struct Listening: Equatable, Sendable {
    package let descriptor: CInt
    /// The unit's `FileDescriptorName=`.
    package let name: String

    package init(descriptor: CInt, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// A descriptor that is not the bus's. It has been closed.
  package struct Foreign: Equatable, Sendable {
    package let name: String
    /// Why it is foreign.
    package let flaw: String

    package init(name: String, flaw: String) {
      self.name = name
      self.flaw = flaw
    }
  }

  /// The passed descriptors cannot be used.
  package struct PassedError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  private var listening: [Listening] = []
  private var states: [CInt] = []
  /// By cookie.
  private var connections: [UInt64: CInt] = [:]
  /// By inode.
  private var files: [UInt64: (descriptor: CInt, number: UInt64)] = [:]
  package private(set) var foreign: [Foreign] = []

  /// Descriptors that were in the store when the process started, foreign ones included, and the length of their
  /// names. These numbers do not change when a descriptor is taken.
  package private(set) var storedCount = 0
  private(set) var namesLength = 0
  private(set) var stateCount = 0
  /// Whether the peers' identities come from the kernel rather than from the write-ahead log.
  package var knowsPeers = false
  /// The highest number of a file, and the numbers in use.
  private(set) var lastFile: UInt64 = 0
  private var fileNumbers: Set<UInt64> = []

  /// Nothing was passed.
  package init() {}

  /// Sorts descriptors, and owns them from now on, even if it throws.
  ///
  /// - Parameter isStoreKept: whether foreign descriptors may come from a store.
  /// - Throws: `PassedError`, which lists the foreign descriptors, if there are any, none of the bus's own came from a
  ///   store, and there is no store or no listening socket.
  package init(_ passed: [(descriptor: CInt, name: String)], isStoreKept: Bool) throws(PassedError) {
    var wrong: [String] = []
    for (descriptor, name) in passed {
      let owned = FileDescriptor(owning: descriptor)
      guard let flaw = sort(owned, name) else { continue }
      let isReserved = StoredName(name) != nil
      wrong.append(
        "\(descriptor) (\"\(name.escaped)\"" + (isReserved ? ", a name that only what is stored has)" : ")"))
      foreign.append(Foreign(name: name, flaw: flaw))
      storedCount += 1
      namesLength += name.utf8.count + 1
    }
    let isAllForeign = storedCount == foreign.count
    guard foreign.isEmpty || !isAllForeign || isStoreKept && !listening.isEmpty else {
      let list = wrong.joined(separator: ", ")
      throw PassedError(
        description: "what was passed as descriptor \(list) is no listening Unix stream socket")
    }
  }

  deinit {
    for one in listening { FileDescriptor(owning: one.descriptor).close() }
    for one in states { FileDescriptor(owning: one).close() }
    for one in connections.values { FileDescriptor(owning: one).close() }
    for one in files.values { FileDescriptor(owning: one.descriptor).close() }
  }

  /// Takes what was passed to this process, with close-on-exec set, and clears the environment variables. May be
  /// called once only, and while there is one thread.
  package static func take(isStoreKept: Bool) throws(PassedError) -> PassedAtStart {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe sd_listen_fds_with_names(1, &names)
    guard count >= 0 else {
      throw PassedError(
        description: "cannot take the descriptors that were passed: \(Errno(rawValue: -count))")
    }
    var passed: [(descriptor: CInt, name: String)] = []
    passed.reserveCapacity(Int(count))
    for index in 0..<Int(count) {
      guard let name = unsafe names?[index] else { break }
      passed.append((SD_LISTEN_FDS_START + CInt(index), unsafe String(cString: name)))
      unsafe free(name)
    }
    unsafe free(names)
    return try PassedAtStart(passed, isStoreKept: isStoreKept)
  }

  /// Takes the descriptor into the collection where it belongs.
  ///
  /// - Returns: why it is foreign; nil if it is not.
  private func sort(_ descriptor: consuming FileDescriptor, _ name: String) -> String? {
    let stored = StoredName(name)
    switch stored {
    case .state:
      states.append(descriptor.release())
      stateCount += 1
    case .connection:
      guard UnixSocket.role(of: descriptor) == .connected else { return "no connection" }
      let cookie: UInt64
      do throws(Errno) {
        cookie = try UnixSocket.cookie(of: descriptor)
      } catch {
        return "a connection without a cookie: \(error)"
      }
      guard connections[cookie] == nil else { return "a connection that is there already" }
      connections[cookie] = descriptor.release()
    case .file(let number):
      lastFile = max(lastFile, number)
      guard let inode = descriptor.inode else { return "no sealed file in memory" }
      guard files[inode] == nil else { return "a file that is there already" }
      files[inode] = (descriptor.release(), number)
      fileNumbers.insert(number)
    case nil:
      guard UnixSocket.role(of: descriptor) == .listening else { return "no listening Unix stream socket" }
      listening.append(Listening(descriptor: descriptor.release(), name: name))
      return nil
    }
    storedCount += 1
    namesLength += stored?.listedLength ?? 0
    return nil
  }

  // MARK: Contents

  package var connectionCount: Int { connections.count }
  /// Sorted, so the oldest connection is first.
  package var connectionCookies: [UInt64] { connections.keys.sorted() }
  package var fileInodes: [UInt64] { files.keys.sorted() }

  /// Whether a descriptor of the bus has this name. Then a foreign one with the same name cannot be removed alone.
  func isInUse(_ name: String) -> Bool {
    switch StoredName(name) {
    case .file(let number): fileNumbers.contains(number)
    case .state, .connection: true
    case nil: false
    }
  }

  package func takeListening() -> [Listening] {
    defer { listening = [] }
    return listening
  }

  /// The next descriptor named as a write-ahead log; nil if there are no more.
  package func takeState() -> FileDescriptor? {
    states.popLast().map { FileDescriptor(owning: $0) }
  }

  package func takeConnection(cookie: UInt64) -> FileDescriptor? {
    connections.removeValue(forKey: cookie).map { FileDescriptor(owning: $0) }
  }

  /// The peer of a connection; nil if the log has its identity, or if there is no such connection.
  package func peer(cookie: UInt64) -> PeerCredentials? {
    guard knowsPeers, let descriptor = connections[cookie] else { return nil }
    return FileDescriptor.lending(descriptor) { socket in
      do throws(Errno) {
        return try UnixSocket.peer(of: socket)
      } catch {
        preconditionFailure("a connection does not say who is at its other end: \(error)")
      }
    }
  }

  /// - Returns: the file, with its number in the store.
  package func takeFile(inode: UInt64) -> PassedFile? {
    guard let file = files.removeValue(forKey: inode) else { return nil }
    return PassedFile(descriptor: FileDescriptor(owning: file.descriptor), number: file.number)
  }

  /// A copy of the file's descriptor, which leaves the file to other users; nil if the file is missing.
  func duplicateFile(inode: UInt64) throws(Errno) -> FileDescriptor? {
    guard let file = files[inode] else { return nil }
    return try FileDescriptor.duplicate(of: file.descriptor)
  }

  /// A file from the store.
  package struct PassedFile: ~Copyable {
    package let descriptor: FileDescriptor
    package let number: UInt64
  }
}
