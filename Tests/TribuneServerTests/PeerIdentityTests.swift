// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("A peer's identity")
struct PeerIdentityTests {
  @Test("has the process's name and units beside the kernel's numbers")
  func ownProcess() throws {
    let pair = try UnixSocket.makePair()
    let process = try PeerProcess(peerOf: pair.one)
    let identity = PeerIdentity(try UnixSocket.peer(of: pair.one), process)
    #expect(identity.pid == UInt32(getpid()))
    #expect(identity.uid == getuid())
    #expect(identity.gid == getgid())
    let name = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
    #expect(identity.process == name.dropLast())
    // Without systemd, there is no unit.
    let unit = identity.units.system
    #expect(unit.isEmpty || [".service", ".scope"].contains { unit.hasSuffix($0) })
  }

  @Test("has numbers only if the process is outside of this namespace", arguments: [0, -1, .max])
  func unknownProcess(pid: Int32) throws {
    let credentials = PeerCredentials(pid: pid, uid: 1000, gid: 100)
    #expect(
      PeerIdentity(credentials, .unverified)
        == PeerIdentity(
          pid: UInt32(max(0, pid)), uid: 1000, gid: 100, process: "", units: PeerUnits()))
  }

  @Test("has numbers only if the process has ended, whoever has its id by now")
  func endedProcess() throws {
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sleep")
    child.arguments = ["600"]
    try child.run()
    // The id of another process stands for one that was given out again.
    let credentials = PeerCredentials(pid: getpid(), uid: 1000, gid: 100)
    let handle = PeerProcess.handle(
      FileDescriptor(owning: tribune_pidfd_open(child.processIdentifier, 0)))
    #expect(!PeerIdentity(credentials, handle).process.isEmpty)
    kill(child.processIdentifier, SIGKILL)
    child.waitUntilExit()
    let numbers = PeerIdentity(
      pid: UInt32(getpid()), uid: 1000, gid: 100, process: "", units: PeerUnits())
    #expect(PeerIdentity(credentials, handle) == numbers)
    #expect(PeerIdentity(credentials, .gone) == numbers)
  }
}
