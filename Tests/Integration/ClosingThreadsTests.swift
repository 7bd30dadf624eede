// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("Threads that close descriptors", .timeLimit(.minutes(15)))
struct ClosingThreadsTests {
  /// Without interruptions, as if the sockets were file systems that do not answer.
  private let threads = ClosingThreads(patienceMilliseconds: 0)
  private let accounts = Accounts()

  private func close(_ descriptor: consuming FileDescriptor, of user: UInt32) {
    threads.close(descriptor, of: accounts.account(of: user).descriptors)
  }

  private func count(of user: UInt32) -> Int { accounts.account(of: user).descriptors.unclosed.current }

  private func block(_ count: Int, of user: UInt32) throws -> [LingeringSocket] {
    try (0..<count).map { _ in
      let socket = try LingeringSocket()
      let last = try FileDescriptor.duplicate(of: socket.rawDescriptor)
      socket.leave()
      close(last, of: user)
      return socket
    }
  }

  private func awaitClosing(of user: UInt32) throws {
    try awaitClosing(of: accounts.account(of: user).descriptors, by: threads)
  }

  private func awaitClosing(of user: UserDescriptors, by threads: ClosingThreads) throws {
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    _ = try retrying { unsafe socketpair(AF_UNIX, type, 0, &ends) }
    let reading = FileDescriptor(owning: ends[0])
    threads.close(FileDescriptor(owning: ends[1]), of: user)
    var poll = pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0)
    #expect(try retrying { unsafe Glibc.poll(&poll, 1, 20_000) } == 1, "the descriptor stays open")
  }

  @Test("a user with many unclosed descriptors delays no other user")
  func others() throws {
    let blocked = try block(40, of: 1)
    for user in 2...4 as ClosedRange<UInt32> {
      try awaitClosing(of: user)
      try awaitClosing(of: user)
    }
    let more = try block(8, of: 5)
    try awaitClosing(of: 3)
    #expect(count(of: 1) == 40 && count(of: 5) == 8)
    for socket in blocked { socket.end() }
    try awaitClosing(of: 1)
    #expect(count(of: 5) == 8)
    for socket in more { socket.end() }
    try awaitClosing(of: 5)
    for user in 1...5 as ClosedRange<UInt32> { #expect(count(of: user) <= 4) }
  }

  @Test("a close that waits for a peer is interrupted, and delays its own user only briefly")
  func interrupted() throws {
    let threads = ClosingThreads()
    let user = accounts.account(of: 1).descriptors
    let sockets = try (0..<40).map { _ in try LingeringSocket() }
    for socket in sockets { threads.close(socket.release(), of: user) }
    try awaitClosing(of: user, by: threads)
    withExtendedLifetime(sockets) {}
  }

  @Test("a connection counts for its user until it and the descriptors in its unread input are closed")
  @MainActor func connections() throws {
    let account = accounts.account(of: 1)
    let quota = DescriptorQuota(accounts, threads)
    var sockets: [LingeringSocket] = []
    for _ in 0..<6 {
      let socket = try LingeringSocket()
      quota.closeConnection(try connection(with: socket.release()), of: account)
      sockets.append(socket)
    }
    accounts.countConnections()
    #expect(account.use(of: .connections) == 6 && accounts.used(.connections) == 6)
    for socket in sockets { socket.end() }
    try awaitClosing(of: 1)
    accounts.countConnections()
    #expect(account.use(of: .connections) <= 4)
  }

  @Test("a user with very many unclosed descriptors gets no more until they are closed")
  @MainActor func many() throws {
    let account = accounts.account(of: 1)
    let quota = DescriptorQuota(accounts, threads)
    let blocked = try block(4, of: 1)
    for _ in 0..<508 {
      try quota.requireClosed(of: account.descriptors)
      quota.close(try UnixSocket.make(nonblocking: true), of: account.descriptors)
    }
    try quota.requireClosed(of: account.descriptors)
    quota.close(try UnixSocket.make(nonblocking: true), of: account.descriptors)
    #expect(throws: WireError.self) { try quota.requireClosed(of: account.descriptors) }
    try quota.requireClosed(of: accounts.account(of: 2).descriptors)
    for socket in blocked { socket.end() }
    try awaitClosing(of: 1)
    try quota.requireClosed(of: account.descriptors)
  }

  private func connection(with descriptor: consuming FileDescriptor) throws -> FileDescriptor {
    let ends = try UnixSocket.makePair()
    let frame = ByteBuffer(capacity: 1, attachment: PassedSocket(descriptor))
    frame.append([0].raw)
    let gather = GatherList(capacity: 1)
    gather.append(0..<1, of: frame)
    #expect(try gather.send(to: ends.one) == 1)
    UnixSocket.shutdown(ends.other)
    return try FileDescriptor.duplicate(of: ends.other.rawValue)
  }
}

private final class PassedSocket: AttachedFile {
  let length = 1
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  var rawDescriptor: CInt { descriptor.rawValue }
}
