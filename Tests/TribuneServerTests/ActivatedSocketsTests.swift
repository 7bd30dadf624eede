// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneSystem

/// Says to this process what systemd says to one that it passes descriptors 3 and on.
private func pass(count: Int, names: String, to process: pid_t = getpid()) {
  unsafe setenv("LISTEN_PID", "\(process)", 1)
  unsafe setenv("LISTEN_FDS", "\(count)", 1)
  unsafe setenv("LISTEN_FDNAMES", names, 1)
}

/// A copy of a descriptor, if there is one, under a number that is none of those that are passed.
private func stepAside(_ descriptor: CInt) -> CInt { fcntl(descriptor, F_DUPFD, 100) }

@Suite("Activated sockets")
struct ActivatedSocketsTests {
  @Test("are listening Unix stream sockets, and nothing else")
  func kinds() throws {
    let folder = try TemporaryFolder()
    let listener = try UnixSocket.make(nonblocking: false)
    try UnixSocket.bind(listener, to: folder.path + "/bus")
    try UnixSocket.listen(listener)
    let idle = try UnixSocket.make(nonblocking: false)
    let datagram = FileDescriptor(owning: socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0))
    let internet = FileDescriptor(owning: socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0))
    try #require(listen(internet.rawValue, 1) == 0)
    let file = FileDescriptor(owning: unsafe open("/dev/null", O_RDONLY))
    let closed: CInt = 1_000_000

    let good = ActivatedSockets.Socket(descriptor: listener.rawValue, name: "bus")
    #expect(throws: Never.self) { try ActivatedSockets.check([]) }
    #expect(throws: Never.self) { try ActivatedSockets.check([good, good]) }
    for descriptor in [idle.rawValue, datagram.rawValue, internet.rawValue, file.rawValue, closed] {
      let wrong = ActivatedSockets.Socket(descriptor: descriptor, name: "a\nb")
      let error = #expect(throws: ActivatedSockets.PassedError.self) {
        try ActivatedSockets.check([good, wrong, good])
      }
      #expect(
        error?.description
          == "what was passed as descriptor \(descriptor) (\"a\\nb\") is no listening Unix stream socket")
    }
  }

  @Test("are taken once, with their names, close-on-exec")
  func taken() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let listener = try UnixSocket.make(nonblocking: false)
      try UnixSocket.bind(listener, to: folder.path + "/bus")
      try UnixSocket.listen(listener)
      // This process's own descriptor 3 steps aside for as long.
      let own = stepAside(3)
      try #require(dup2(listener.rawValue, 3) == 3)
      pass(count: 1, names: "bus")
      let sockets = try ActivatedSockets.take()
      let flags = fcntl(3, F_GETFD)
      let again = try ActivatedSockets.take()
      try #require(own == -1 ? close(3) == 0 : dup2(own, 3) == 3)
      #expect(sockets == [ActivatedSockets.Socket(descriptor: 3, name: "bus")])
      #expect(flags & FD_CLOEXEC != 0)
      #expect(again == [])
      for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
        #expect(ProcessInfo.processInfo.environment[name] == nil)
      }
    }
  }

  @Test("that are wrong are all named")
  func wrong() throws {
    let null = FileDescriptor(owning: unsafe open("/dev/null", O_RDONLY))
    let wrong = ["bus", "varlink"].map { ActivatedSockets.Socket(descriptor: null.rawValue, name: $0) }
    let error = #expect(throws: ActivatedSockets.PassedError.self) { try ActivatedSockets.check(wrong) }
    let number = null.rawValue
    #expect(
      error?.description
        == "what was passed as descriptor \(number) (\"bus\"), \(number) (\"varlink\") is no listening Unix stream socket"
    )
  }

  @Test("are none where nothing was passed, or to another process")
  func nothingPassed() async {
    await #expect(processExitsWith: .success) {
      let unasked = try ActivatedSockets.take()
      pass(count: 1, names: "bus", to: 1)
      let anothers = try ActivatedSockets.take()
      #expect(unasked == [])
      #expect(anothers == [])
    }
  }

  @Test("that the environment speaks of without sense are an error")
  func nonsense() async {
    await #expect(processExitsWith: .success) {
      unsafe setenv("LISTEN_PID", "\(getpid())", 1)
      unsafe setenv("LISTEN_FDS", "some", 1)
      #expect(throws: ActivatedSockets.PassedError.self) { try ActivatedSockets.take() }
    }
  }
}
