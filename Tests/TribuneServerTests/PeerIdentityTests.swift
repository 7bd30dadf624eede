// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("A peer's identity")
struct PeerIdentityTests {
  /// The credentials of this process at the other end of a socket.
  private func ownCredentials() throws -> PeerCredentials {
    let pair = try UnixSocket.makePair()
    return try UnixSocket.peer(of: pair.one)
  }

  @Test("has the process's name and unit beside the kernel's numbers")
  func ownProcess() throws {
    let identity = PeerIdentity(credentials: try ownCredentials())
    #expect(identity.pid == UInt32(getpid()))
    #expect(identity.uid == getuid())
    #expect(identity.gid == getgid())
    let name = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
    #expect(identity.process == name.dropLast())
    // Without systemd, there is no unit.
    #expect(identity.unit.isEmpty || [".service", ".scope"].contains { identity.unit.hasSuffix($0) })
  }

  @Test("has numbers only if the process is gone, or outside of this namespace", arguments: [0, -1, .max])
  func unknownProcess(pid: Int32) throws {
    var credentials = try ownCredentials()
    credentials.pid = pid
    let identity = PeerIdentity(credentials: credentials)
    #expect(
      identity == PeerIdentity(pid: UInt32(max(0, pid)), uid: getuid(), gid: getgid(), process: "", unit: ""))
  }
}
