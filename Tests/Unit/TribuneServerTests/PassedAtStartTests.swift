// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem

@testable import TribuneServer

/// The receiver owns them.
private struct Descriptors {
  private let folder: TemporaryFolder
  let listener: CInt
  let idle: CInt
  let datagram: CInt
  let internet: CInt
  let null: CInt

  init() throws {
    folder = try TemporaryFolder()
    let listener = try UnixSocket.make(nonblocking: false)
    try UnixSocket.bind(listener, to: folder.path + "/bus")
    try UnixSocket.listen(listener)
    self.listener = listener.release()
    idle = try UnixSocket.make(nonblocking: false).release()
    datagram = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    internet = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    try #require(Glibc.listen(internet, 1) == 0)
    null = unsafe open("/dev/null", O_RDONLY)
  }
}

/// The receiver owns it.
private func file() throws -> (descriptor: CInt, inode: UInt64) {
  let memory = try SharedFile(length: 1)
  let file = try FileDescriptor.duplicate(of: memory.rawDescriptor)
  let inode = file.inode
  return (file.release(), try #require(inode))
}

extension PassedAtStart {
  /// These close the descriptor, and return its number.
  fileprivate func connection(_ cookie: UInt64) -> CInt? { takeConnection(cookie: cookie)?.rawValue }
  fileprivate func file(_ inode: UInt64) -> CInt? { takeFile(inode: inode)?.rawValue }
  fileprivate func listener(_ inode: UInt64) -> CInt? { takeListener(inode: inode)?.rawValue }
  fileprivate func state() -> CInt? { takeLog()?.rawValue }

  fileprivate convenience init(_ items: [KeptItem], _ descriptors: CInt...) {
    self.init()
    take(items, descriptors)
  }

  func take(_ items: [KeptItem], _ descriptors: [CInt]) {
    var given = PassedDescriptors()
    for descriptor in descriptors { given.append(owning: descriptor) }
    take(items, given)
  }
}

@Suite("Descriptors that systemd passes at the start", .timeLimit(.minutes(15)))
struct PassedBySystemdTests {
  @Test("include listening Unix stream sockets under any name, and no other kind")
  func kinds() throws {
    let all = try Descriptors()
    let good = try PassedAtStart([(all.listener, "any name")])
    let listening = good.takeListening()
    #expect(listening == [PassedAtStart.Listening(descriptor: all.listener, name: "any name")])
    #expect(good.takeListening() == [])
    close(all.listener)
    for wrong in [all.idle, all.datagram, all.internet, all.null] {
      let error = #expect(throws: PassedAtStart.PassedError.self) { _ = try PassedAtStart([(wrong, "a\nb")]) }
      #expect(
        error?.description
          == "passed descriptor \(wrong) (\"a\\nb\") is not a listening Unix stream socket")
    }
  }

  @Test("are none without variables, or with those for another process; invalid variables are an error")
  func variables() async {
    await #expect(processExitsWith: .success) {
      let unasked = try PassedAtStart.take().takeListening()
      unsafe setenv("LISTEN_PID", "1", 1)
      unsafe setenv("LISTEN_FDS", "1", 1)
      let anothers = try PassedAtStart.take().takeListening()
      #expect(unasked == [])
      #expect(anothers == [])
      for count in ["some", "1000000"] {
        unsafe setenv("LISTEN_PID", "\(getpid())", 1)
        unsafe setenv("LISTEN_FDS", count, 1)
        #expect(throws: PassedAtStart.PassedError.self) { _ = try PassedAtStart.take() }
      }
    }
  }

  @Test("include the log, the first of several, and a lease, which the bus closes")
  func state() throws {
    let all = try Descriptors()
    let (state, inode) = try file()
    let (second, lease) = (try WatchedConnection(), try WatchedConnection())
    let passed = try PassedAtStart([
      (lease.passed, "lease"), (state, "state"), (all.listener, "bus"), (second.passed, "state"),
    ])
    #expect(try lease.isClosed && second.isClosed)
    #expect(passed.takeListening().map(\.descriptor) == [all.listener])
    close(all.listener)
    #expect(passed.logInode == inode)
    #expect(passed.state() == state)
    #expect(passed.logInode == nil && passed.state() == nil)
  }

  @Test("are closed if the bus does not take them, even after an error")
  func closes() throws {
    let (taken, refused) = (try WatchedConnection(), try WatchedConnection())
    _ = try PassedAtStart([(taken.passed, "state")])
    #expect(try taken.isClosed)
    #expect(throws: PassedAtStart.PassedError.self) {
      _ = try PassedAtStart([(refused.passed, "state"), (try Descriptors().null, "odd")])
    }
    #expect(try refused.isClosed)
  }
}

@Suite("Descriptors that a keeper gives at the start")
struct PassedByKeeperTests {
  @Test("are found by their cookie or inode, and taken once")
  func items() throws {
    let all = try Descriptors()
    let connection = try WatchedConnection()
    let (state, logInode) = try file()
    let (file, inode) = try file()
    let passed = PassedAtStart(
      [.listener(7), .connection(connection.cookie), .file(inode), .log(logInode)], all.listener,
      connection.passed, file, state)
    #expect(passed.connectionCookies == [connection.cookie])
    #expect(passed.logInode == logInode)
    #expect(passed.takeListening() == [], "it has the sockets of systemd only")
    #expect(passed.listener(8) == nil)
    #expect(passed.listener(7) == all.listener && passed.listener(7) == nil)
    #expect(passed.connection(connection.cookie) == connection.passed)
    #expect(passed.connection(connection.cookie) == nil && !passed.hasConnection(cookie: connection.cookie))
    let copy = try #require(try passed.duplicateFile(inode: inode)?.release())
    #expect(copy != file)
    close(copy)
    #expect(passed.file(inode) == file)
    #expect(passed.file(inode) == nil)
    #expect(passed.state() == state)
  }

  @Test("do not replace those that the bus has already")
  func twice() throws {
    let (first, second) = (try WatchedConnection(), try WatchedConnection())
    let (file, inode) = try file()
    let fileAgain = try FileDescriptor.duplicate(of: file).release()
    let passed = try PassedAtStart([(first.passed, "state")])
    passed.take([.log(0), .file(inode), .file(inode)], [second.passed, file, fileAgain])
    #expect(try second.isClosed)
    #expect(passed.state() == first.passed)
    #expect(passed.file(inode) == file)
  }

  @Test("are closed if they do not match the keeper's description")
  func impostors() throws {
    let all = try Descriptors()
    let connections = try (0..<4).map { _ in try WatchedConnection() }
    let (file, inode) = try file()
    let passed = PassedAtStart(
      [
        .connection(connections[1].cookie), .connection(1), .file(2), .listener(3), .file(inode + 1),
        .lease, .connection(4),
      ], connections[0].passed, all.idle, connections[1].passed, connections[2].passed, file,
      connections[3].passed, all.null)
    for connection in connections { #expect(try connection.isClosed) }
    #expect(passed.connectionCookies == [])
    #expect(passed.file(2) == nil && passed.file(inode) == nil && passed.file(inode + 1) == nil)
    #expect(passed.listener(3) == nil)
  }

  @Test("may be incomplete beyond this process's limit")
  func fewer() throws {
    let connection = try WatchedConnection()
    let passed = PassedAtStart([.connection(connection.cookie), .connection(1), .log(2)], connection.passed)
    #expect(passed.connectionCookies == [connection.cookie])
    #expect(passed.logInode == nil)
    #expect(passed.connection(connection.cookie) == connection.passed)
  }

  @Test("are closed when the bus discards them, including listening sockets")
  func discards() throws {
    let passed = PassedAtStart([.listener(7)], try Descriptors().listener)
    passed.discard()
    #expect(passed.listener(7) == nil)
  }
}
