// SPDX-License-Identifier: Apache-2.0

import TribuneService
package import TribuneSystem
import TribuneWire

/// The descriptors that a daemon gets when it starts. systemd passes listening sockets (sd_listen_fds(3)), and
/// what the bus stored there (`ManagerStore`): the state log, and one end of the lease, a socket pair. systemd
/// closes its end when the bus will not start again, which the keeper notices at the other end. The keeper
/// passes the previous daemon's descriptors (`KeptItem`).
///
/// Owns the descriptors until another part takes them.
nonisolated package final class PassedAtStart {
  package struct Listening: Equatable, Sendable {
    package let descriptor: CInt
    package let name: String

    package init(descriptor: CInt, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  package struct PassedError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  private var listening: [Listening] = []
  private var log: CInt?
  /// The key is the kernel's cookie of the socket.
  private var connections: [UInt64: CInt] = [:]
  private var files: [UInt64: CInt] = [:]
  /// The previous daemon's listeners. The key is the inode of the socket's file.
  private var listeners: [UInt64: CInt] = [:]
  package private(set) var storedNames: Set<String> = []

  package init() {}

  /// Takes ownership of the descriptors, even if this initializer throws.
  ///
  /// - Throws: `PassedError` if a descriptor is neither the log, nor the lease, nor a listening socket.
  package init(_ passed: [(descriptor: CInt, name: String)]) throws(PassedError) {
    var foreign: [String] = []
    for (descriptor, name) in passed where !takeIfKnown(FileDescriptor(owning: descriptor), name) {
      foreign.append("\(descriptor) (\"\(name.escaped)\")")
    }
    guard foreign.isEmpty else {
      throw PassedError(
        description:
          "passed descriptor \(foreign.joined(separator: ", ")) is not a listening Unix stream socket"
      )
    }
  }

  deinit {
    for one in listening { FileDescriptor(owning: one.descriptor).close() }
    if let log { FileDescriptor(owning: log).close() }
    for one in connections.values { FileDescriptor(owning: one).close() }
    for one in files.values { FileDescriptor(owning: one).close() }
    for one in listeners.values { FileDescriptor(owning: one).close() }
  }

  // MARK: From systemd

  /// Takes systemd's descriptors, sets close-on-exec, and clears the environment variables. May be called
  /// only once, and only while the process has one thread.
  package static func take() throws(PassedError) -> PassedAtStart { try PassedAtStart(try receive()) }

  /// The caller owns the descriptors.
  static func receive() throws(PassedError) -> [(descriptor: CInt, name: String)] {
    do throws(Errno) {
      return try PassedToService.take()
    } catch {
      throw PassedError(description: "cannot receive the passed descriptors: \(error)")
    }
  }

  private func takeIfKnown(_ descriptor: consuming FileDescriptor, _ name: String) -> Bool {
    switch StoredName(rawValue: name) {
    case .log:
      storedNames.insert(name)
      if log == nil { log = descriptor.release() }
    // This process closes its copy, so that the lease ends as soon as the service manager closes its own.
    case .lease: storedNames.insert(name)
    case nil:
      guard UnixSocket.role(of: descriptor) == .listening else { return false }
      listening.append(Listening(descriptor: descriptor.release(), name: name))
    }
    return true
  }

  private func add(_ descriptor: consuming FileDescriptor, to table: inout [UInt64: CInt], _ key: UInt64) {
    if table[key] == nil { table[key] = descriptor.release() }
  }

  private static func cookie(of descriptor: borrowing FileDescriptor) -> UInt64? {
    guard UnixSocket.role(of: descriptor) == .connected else { return nil }
    do throws(Errno) {
      return try UnixSocket.cookie(of: descriptor)
    } catch {
      return nil
    }
  }

  // MARK: From a keeper

  /// Takes one descriptor for each item, in order. Closes duplicates, and descriptors that do not match their
  /// items.
  func take(_ items: [KeptItem], _ given: consuming PassedDescriptors) {
    var given = given
    for item in items {
      guard case .descriptor(let descriptor)? = given.popFirst() else { return }
      switch item.kind {
      case .log: if log == nil { log = descriptor.release() }
      case .connection:
        if Self.cookie(of: descriptor) == item.key { add(descriptor, to: &connections, item.key) }
      case .file: if descriptor.inode == item.key { add(descriptor, to: &files, item.key) }
      case .listener:
        if UnixSocket.role(of: descriptor) == .listening { add(descriptor, to: &listeners, item.key) }
      case .lease: break
      }
    }
  }

  // MARK: Contents

  /// In ascending order.
  package var connectionCookies: [UInt64] { connections.keys.sorted() }

  /// Closes everything but the listening sockets from the service manager.
  func discard() {
    shutConnections()
    _ = takeLog()
    for one in files.values { FileDescriptor(owning: one).close() }
    for one in listeners.values { FileDescriptor(owning: one).close() }
    (files, listeners) = ([:], [:])
  }

  @discardableResult
  func shutConnections() -> Int {
    let cookies = connectionCookies
    for cookie in cookies {
      if let socket = takeConnection(cookie: cookie) { UnixSocket.shutdown(socket) }
    }
    return cookies.count
  }

  package func takeListening() -> [Listening] {
    defer { listening = [] }
    return listening
  }

  func takeListener(inode: UInt64) -> FileDescriptor? {
    listeners.removeValue(forKey: inode).map { FileDescriptor(owning: $0) }
  }

  var logInode: UInt64? { log.flatMap { log in FileDescriptor.lending(log) { $0.inode } } }

  package func takeLog() -> FileDescriptor? {
    defer { log = nil }
    return log.map { FileDescriptor(owning: $0) }
  }

  func hasConnection(cookie: UInt64) -> Bool { connections[cookie] != nil }

  package func takeConnection(cookie: UInt64) -> FileDescriptor? {
    connections.removeValue(forKey: cookie).map { FileDescriptor(owning: $0) }
  }

  package func takeFile(inode: UInt64) -> FileDescriptor? {
    files.removeValue(forKey: inode).map { FileDescriptor(owning: $0) }
  }

  func duplicateFile(inode: UInt64) throws(Errno) -> FileDescriptor? {
    guard let file = files[inode] else { return nil }
    return try FileDescriptor.duplicate(of: file)
  }
}
