// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("A peer's identity")
struct PeerIdentityTests {
  /// What the kernel says of this process at the other end of a socket.
  private func ownCredentials() throws -> PeerCredentials {
    let folder = try TemporaryFolder()
    let listener = try UnixSocket.make(nonblocking: false)
    try UnixSocket.bind(listener, to: folder.path + "/s")
    try UnixSocket.listen(listener)
    let client = try UnixSocket.make(nonblocking: false)
    try UnixSocket.connect(client, to: folder.path + "/s")
    return try UnixSocket.peer(of: client)
  }

  @Test("has the process's name and unit beside the kernel's numbers")
  func ownProcess() throws {
    let identity = PeerIdentity(credentials: try ownCredentials())
    #expect(identity.pid == UInt32(getpid()))
    #expect(identity.uid == getuid())
    #expect(identity.gid == getgid())
    let name = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
    #expect(identity.process == name.dropLast())
    // Where systemd does not run there is none.
    #expect(identity.unit.isEmpty || [".service", ".scope"].contains { identity.unit.hasSuffix($0) })
  }

  @Test(
    "is numbers alone for a process that is gone, or that this namespace does not see",
    arguments: [0, -1, .max])
  func unknownProcess(pid: Int32) throws {
    var credentials = try ownCredentials()
    credentials.pid = pid
    let identity = PeerIdentity(credentials: credentials)
    #expect(
      identity
        == PeerIdentity(pid: UInt32(max(0, pid)), uid: getuid(), gid: getgid(), process: "", unit: ""))
  }
}
