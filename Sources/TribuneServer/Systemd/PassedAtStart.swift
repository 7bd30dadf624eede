// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
package import TribuneSystem
import TribuneWire

/// What systemd passed to the daemon when it started it, as sd_listen_fds(3) has it: the sockets to listen on, and what
/// an earlier process has had stored (`DescriptorStore`), which comes behind them and in any order.
///
/// It owns what nobody has taken out of it yet, and closes that in the end.
nonisolated package final class PassedAtStart {
  /// A socket to listen on, which whoever took it owns and closes.
  package struct Listening: Equatable, Sendable {
    package let descriptor: CInt
    /// The unit's `FileDescriptorName=`.
    package let name: String

    package init(descriptor: CInt, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// Nothing of the bus's. It is closed.
  package struct Foreign: Equatable, Sendable {
    package let name: String
    /// Why it is none.
    package let flaw: String

    package init(name: String, flaw: String) {
      self.name = name
      self.flaw = flaw
    }
  }

  /// What was passed is nothing that the daemon can serve on.
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

  /// Descriptors that lay in the store when the process started, foreign ones included, and the bytes that their names
  /// take; unlike the others, these figures stay when something is taken out.
  package private(set) var storedCount = 0
  private(set) var namesLength = 0
  private(set) var stateCount = 0
  /// Whether the kernel is to be asked who connected, rather than the state.
  package var knowsPeers = false
  /// The highest number of a file, and those that there are.
  private(set) var lastFile: UInt64 = 0
  private var fileNumbers: Set<UInt64> = []

  /// Nothing was passed.
  package init() {}

  /// Sorts descriptors, which it owns from then on, also when it throws.
  ///
  /// - Parameter isStoreKept: whether what is foreign may have come from a store.
  /// - Throws: `PassedError` naming each that is no listening Unix stream socket, where nothing else was to be expected:
  ///   when there is no store, or nothing to listen on either, and nothing that had been stored.
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

  /// Takes what was passed to this process, close-on-exec. The environment does not speak of it afterwards: it can be
  /// taken once, and must be while there is one thread.
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

  /// Takes the descriptor in, where it belongs.
  ///
  /// - Returns: why it belongs nowhere, if so.
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

  // MARK: What there is

  package var connectionCount: Int { connections.count }
  /// The oldest first.
  package var connectionCookies: [UInt64] { connections.keys.sorted() }
  package var fileInodes: [UInt64] { files.keys.sorted() }

  /// Whether something of the bus's has this name: under it, nothing foreign can be taken out of the store alone.
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

  /// The next of what is called a state; nil when there is no more.
  package func takeState() -> FileDescriptor? {
    states.popLast().map { FileDescriptor(owning: $0) }
  }

  package func takeConnection(cookie: UInt64) -> FileDescriptor? {
    connections.removeValue(forKey: cookie).map { FileDescriptor(owning: $0) }
  }

  /// Who is at the other end of a connection; nil if that is to be taken from the state, or the connection is not there.
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

  /// - Returns: also the number by which the store knows it.
  package func takeFile(inode: UInt64) -> PassedFile? {
    guard let file = files.removeValue(forKey: inode) else { return nil }
    return PassedFile(descriptor: FileDescriptor(owning: file.descriptor), number: file.number)
  }

  /// The same, for who leaves it to others as well; nil if it is not there.
  func duplicateFile(inode: UInt64) throws(Errno) -> FileDescriptor? {
    guard let file = files[inode] else { return nil }
    return try FileDescriptor.duplicate(of: file.descriptor)
  }

  /// A file that lay in the store.
  package struct PassedFile: ~Copyable {
    package let descriptor: FileDescriptor
    package let number: UInt64
  }
}
