// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport

@Suite("Roles, cookies and inodes of descriptors", .timeLimit(.minutes(15)))
struct SocketRoleTests {
  private func pair(_ type: __socket_type) throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    let result = unsafe socketpair(AF_UNIX, CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends)
    try #require(result == 0)
    return (ends[0], ends[1])
  }

  @Test("a stream socket with a peer is a connection, even if the peer is gone, and other types are not")
  func connections() throws {
    let (first, second) = try pair(SOCK_STREAM)
    let end = FileDescriptor(owning: first)
    for step in ["open", "hung up"] {
      let role = UnixSocket.role(of: end)
      #expect(role == .connected, "\(step)")
      if step == "open" { close(second) }
    }
    for type in [SOCK_DGRAM, SOCK_SEQPACKET] {
      let (first, second) = try pair(type)
      let end = FileDescriptor(owning: first)
      let role = UnixSocket.role(of: end)
      #expect(role == nil)
      close(second)
    }
  }

  @Test("a cookie identifies a socket, through any of its descriptors")
  func cookies() throws {
    let pair = try UnixSocket.makePair()
    let copy = try pair.one.duplicate()
    let cookies = try [
      UnixSocket.cookie(of: pair.one), UnixSocket.cookie(of: copy), UnixSocket.cookie(of: pair.other),
    ]
    #expect(cookies[0] == cookies[1])
    #expect(cookies[0] != cookies[2])
    let flags = fcntl(copy.rawValue, F_GETFD)
    #expect(flags & FD_CLOEXEC != 0)
  }

  @Test("an inode identifies a file in memory, and a socket has none")
  func inodes() throws {
    let file = try MemoryFile(holding: [1, 2, 3].raw)
    let first = try FileDescriptor.duplicate(of: file.rawDescriptor)
    let second = try FileDescriptor.duplicate(of: file.rawDescriptor)
    let inodes = [first.inode, second.inode]
    #expect(inodes[0] != nil && inodes[0] == inodes[1])
    let socket = try UnixSocket.make(nonblocking: true)
    let none = socket.inode
    #expect(none == nil)
  }

  @Test(
    "a file of another file system has no inode, because it need not be unique",
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
