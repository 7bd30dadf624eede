// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport

@Suite("What a socket is there for", .timeLimit(.minutes(15)))
struct SocketRoleTests {
  private func pair(_ domain: CInt = AF_UNIX, _ type: __socket_type) throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    let result = unsafe socketpair(domain, CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends)
    try #require(result == 0)
    return (ends[0], ends[1])
  }

  @Test("is told of connections, also of those whose peer is gone, and of nothing else that has a peer")
  func connections() throws {
    let (first, second) = try pair(AF_UNIX, SOCK_STREAM)
    let end = FileDescriptor(owning: first)
    for step in ["open", "hung up"] {
      let role = UnixSocket.role(of: end)
      #expect(role == .connected, "\(step)")
      if step == "open" { close(second) }
    }
    for type in [SOCK_DGRAM, SOCK_SEQPACKET] {
      let (first, second) = try pair(AF_UNIX, type)
      let end = FileDescriptor(owning: first)
      let role = UnixSocket.role(of: end)
      #expect(role == nil)
      close(second)
    }
  }

  @Test("a cookie is of the socket, whichever descriptor it is asked of")
  func cookies() throws {
    let (first, second) = try pair(AF_UNIX, SOCK_STREAM)
    let end = FileDescriptor(owning: first)
    let other = FileDescriptor(owning: second)
    let copy = try end.duplicate()
    let cookies = try [UnixSocket.cookie(of: end), UnixSocket.cookie(of: copy), UnixSocket.cookie(of: other)]
    #expect(cookies[0] == cookies[1])
    #expect(cookies[0] != cookies[2])
    let flags = fcntl(copy.rawValue, F_GETFD)
    #expect(flags & FD_CLOEXEC != 0)
  }

  @Test("a file in memory has an inode, of which there is one; a socket has none that counts")
  func inodes() throws {
    let file = try MemoryFile(holding: [1, 2, 3].raw)
    let copies = (0..<2).map { _ in fcntl(file.rawDescriptor, F_DUPFD_CLOEXEC, 0) }
    let first = FileDescriptor(owning: copies[0])
    let second = FileDescriptor(owning: copies[1])
    let inodes = [first.inode, second.inode]
    #expect(inodes[0] != nil && inodes[0] == inodes[1])
    let (one, two) = try pair(AF_UNIX, SOCK_STREAM)
    let socket = FileDescriptor(owning: one)
    let none = socket.inode
    #expect(none == nil)
    close(two)
  }

  @Test(
    "a file that others can have the inode of, elsewhere, has none that counts",
    arguments: ["/dev/shm", "/tmp"])
  func foreignInodes(folder: String) throws {
    let path = "\(folder)/tribune-\(UInt32.random(in: .min ... .max))"
    let file = FileDescriptor(
      owning: try retrying { unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) })
    let result = unsafe unlink(path)
    #expect(result == 0)
    let inode = file.inode
    #expect(inode == nil)
  }
}
