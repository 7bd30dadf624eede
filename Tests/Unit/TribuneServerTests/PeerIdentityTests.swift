// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Testing
import TribunePolicy
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@Suite("The identity of a peer")
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
    // Without systemd, the unit is empty.
    let unit = identity.units.system
    #expect(unit.isEmpty || [".service", ".scope"].contains { unit.hasSuffix($0) })
  }

  @Test("has only numbers if the process is outside of this namespace", arguments: [0, -1, .max])
  func unknownProcess(pid: Int32) throws {
    let credentials = PeerCredentials(pid: pid, uid: 1000, gid: 100)
    #expect(
      PeerIdentity(credentials, .unverified)
        == PeerIdentity(
          pid: UInt32(max(0, pid)), uid: 1000, gid: 100, process: "", units: PeerUnits()))
  }

  @Test("has only numbers if the process has ended, even if its id was reused")
  func endedProcess() throws {
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sleep")
    child.arguments = ["600"]
    try child.run()
    // The child's handle makes the id look reused.
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

  @Test("is verified for the process at the other end of a socket, until that has ended")
  func verified() throws {
    let listener = try UnixSocket.make(nonblocking: false)
    let folder = try TemporaryFolder()
    try UnixSocket.bind(listener, to: "\(folder.path)/socket")
    try UnixSocket.listen(listener)
    let client = Process()
    client.executableURL = URL(filePath: "/usr/bin/env")
    client.arguments = [
      "python3", "-c",
      "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)",
      "\(folder.path)/socket",
    ]
    try client.run()
    let number = listener.rawValue
    let accepted = FileDescriptor(owning: try retrying { Glibc.accept(number, nil, nil) })
    let credentials = try UnixSocket.peer(of: accepted)
    #expect(credentials.pid == client.processIdentifier)
    let process = try PeerProcess(peerOf: accepted)
    #expect(process.isVerified && !process.hasEnded)
    let (peer, subject) = PeerIdentity.identify(credentials, [4242], process)
    let unit = peer.units.system
    #expect(subject == Subject(user: getuid(), groups: [4242], unit: Subject.Unit(unit.isEmpty ? nil : unit)))
    kill(client.processIdentifier, SIGKILL)
    client.waitUntilExit()
    for ended in 0..<2 {
      let other = try PeerProcess(peerOf: accepted)
      let (peer, subject) =
        ended == 0
        ? PeerIdentity.identify(credentials, [], process) : PeerIdentity.identify(credentials, [], other)
      #expect(peer.process.isEmpty && peer.units == PeerUnits())
      #expect(subject == Subject(user: getuid(), unit: .unknown))
    }
  }

  @Test(
    "has a known unit with a handle of the process, a claimed one without, and an unknown one without the process"
  )
  func units() throws {
    let pair = try UnixSocket.makePair()
    let process = try PeerProcess(peerOf: pair.one)
    #expect(PeerIdentity.unit("a.service", of: process) == .known("a.service"))
    #expect(PeerIdentity.unit("a.service", of: .unverified) == .claimed("a.service"))
    #expect(PeerIdentity.unit("a.service", of: .gone) == .unknown)
    #expect(PeerIdentity.unit("", of: process) == .none)
    #expect(PeerIdentity.unit("", of: .gone) == .unknown)
    let outside = PeerIdentity.identify(PeerCredentials(pid: 0, uid: 1000, gid: 100), [], .unverified)
    #expect(outside.1 == Subject(user: 1000, unit: .unknown))
  }
}
