// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem

/// Says to this process what systemd says to one that it passes descriptors 3 and on.
private func pass(count: Int, names: String, to process: pid_t = getpid()) {
  unsafe setenv("LISTEN_PID", "\(process)", 1)
  unsafe setenv("LISTEN_FDS", "\(count)", 1)
  unsafe setenv("LISTEN_FDNAMES", names, 1)
}

/// What can be passed, one of each kind.
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

/// Two ends of a connection.
private func connection() throws -> (CInt, CInt) {
  var ends: [CInt] = [-1, -1]
  let result = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
  try #require(result == 0)
  return (ends[0], ends[1])
}

extension PassedAtStart {
  /// The number of what is taken, which is closed.
  fileprivate func takeConnection(_ cookie: UInt64) -> CInt? { takeConnection(cookie: cookie)?.rawValue }
  fileprivate func takeStateNumber() -> CInt? { takeState()?.rawValue }
}

private func cookie(of descriptor: CInt) throws -> UInt64 {
  let copy = FileDescriptor(owning: fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
  return try UnixSocket.cookie(of: copy)
}

private func file() throws -> (descriptor: CInt, inode: UInt64) {
  let memory = try SharedFile(length: 1)
  let file = FileDescriptor(owning: fcntl(memory.rawDescriptor, F_DUPFD_CLOEXEC, 0))
  let inode = file.inode
  return (file.release(), try #require(inode))
}

/// A file of a file system in which another one's inodes may come again.
private func foreignFile() throws -> CInt {
  let folder = try TemporaryFolder()
  try folder.write("file", "")
  return try retrying { unsafe open(folder.path + "/file", O_RDONLY | O_CLOEXEC) }
}

@Suite("What is passed at the start", .timeLimit(.minutes(15)))
struct PassedAtStartTests {
  // MARK: Sockets to listen on

  @Test(
    "has listening Unix stream sockets, under whatever name, and nothing else is one",
    arguments: [false, true])
  func kinds(isStoreKept: Bool) throws {
    let all = try Descriptors()
    let good = try PassedAtStart([(all.listener, "any name")], isStoreKept: isStoreKept)
    #expect(good.takeListening() == [PassedAtStart.Listening(descriptor: all.listener, name: "any name")])
    #expect(good.takeListening() == [])
    #expect(good.storedCount == 0)
    for wrong in [all.idle, all.datagram, all.internet, all.null] {
      let error = #expect(throws: PassedAtStart.PassedError.self) {
        _ = try PassedAtStart([(wrong, "a\nb")], isStoreKept: isStoreKept)
      }
      #expect(
        error?.description
          == "what was passed as descriptor \(wrong) (\"a\\nb\") is no listening Unix stream socket")
    }
  }

  @Test("is nothing where nothing was passed, or to another process")
  func nothingPassed() async {
    await #expect(processExitsWith: .success) {
      let unasked = try PassedAtStart.take(isStoreKept: false).takeListening()
      pass(count: 1, names: "bus", to: 1)
      let anothers = try PassedAtStart.take(isStoreKept: true).takeListening()
      #expect(unasked == [])
      #expect(anothers == [])
    }
  }

  @Test("is an error where the environment speaks of it without sense", arguments: ["some", "1000000"])
  func nonsense(count: String) async {
    await #expect(processExitsWith: .success) { [count] in
      unsafe setenv("LISTEN_PID", "\(getpid())", 1)
      unsafe setenv("LISTEN_FDS", count, 1)
      #expect(throws: PassedAtStart.PassedError.self) { _ = try PassedAtStart.take(isStoreKept: true) }
    }
  }

  // MARK: What was stored

  @Test(
    "has the state, connections by their cookies and files by their inodes, in any order, and its figures stay"
  )
  func stored() throws {
    let all = try Descriptors()
    let (first, firstPeer) = try connection()
    let (second, secondPeer) = try connection()
    let (file, inode) = try file()
    let (state, _) = try TribuneServerTests.file()
    defer { for peer in [firstPeer, secondPeer] { close(peer) } }
    // Whoever is gone is found to be gone by reading.
    shutdown(secondPeer, CInt(SHUT_RDWR))
    let cookies = [try cookie(of: first), try cookie(of: second)]

    let passed = try PassedAtStart(
      [(first, "c"), (file, "f1z"), (all.listener, "bus"), (state, "state"), (second, "c")], isStoreKept: true
    )
    #expect(passed.foreign == [])
    #expect(passed.takeListening().map(\.descriptor) == [all.listener])
    #expect(Set(passed.connectionCookies) == Set(cookies))
    #expect(passed.fileInodes == [inode])
    #expect(passed.storedCount == 4)

    #expect(passed.takeConnection(cookies[0]) == first)
    #expect(passed.takeConnection(cookies[0]) == nil)
    #expect(passed.takeConnection(1) == nil)
    #expect(passed.connectionCookies == [cookies[1]])
    guard let taken = passed.takeFile(inode: inode) else {
      Issue.record("the file is not there")
      return
    }
    #expect(taken.number == 71)
    let descriptor = taken.descriptor.rawValue
    #expect(descriptor == file)
    #expect(passed.fileInodes == [])
    #expect(passed.takeStateNumber() == state)
    #expect(passed.takeStateNumber() == nil)
    #expect(passed.storedCount == 4)
  }

  @Test("is closed when nobody has taken it")
  func closes() throws {
    let (passed, peer) = try connection()
    defer { close(peer) }
    _ = try PassedAtStart([(passed, "c")], isStoreKept: true)
    var byte: UInt8 = 0
    let count = unsafe read(peer, &byte, 1)
    #expect(count == 0)
  }

  @Test(
    "that is foreign does not keep the bus from starting where something of its own had been stored, or can be"
  )
  func foreign() throws {
    for (hasListener, hasStored, isStoreKept, isError) in [
      (true, false, false, true), (false, false, true, true), (true, false, true, false),
      (false, true, true, false), (true, true, false, false),
    ] {
      let all = try Descriptors()
      let (end, peer) = try connection()
      defer { close(peer) }
      var passed = [(descriptor: all.null, name: "odd")]
      if hasListener { passed.append((all.listener, "bus")) }
      if hasStored { passed.append((end, "c")) }
      var sorted: PassedAtStart?
      do {
        sorted = try PassedAtStart(passed, isStoreKept: isStoreKept)
      } catch {
        #expect(error.description.contains("\(all.null) (\"odd\")"))
      }
      #expect((sorted == nil) == isError)
      guard let sorted else { continue }
      #expect(sorted.foreign == [.init(name: "odd", flaw: "no listening Unix stream socket")])
      #expect(sorted.storedCount == (hasStored ? 2 : 1))
      if !hasStored { close(end) }
    }
  }

  @Test("that has a name of the bus's own and is nothing of the sort is foreign")
  func impostors() throws {
    let all = try Descriptors()
    let (end, peer) = try connection()
    let (once, inode) = try file()
    let twice = fcntl(once, F_DUPFD_CLOEXEC, 0)
    let endAgain = fcntl(end, F_DUPFD_CLOEXEC, 0)
    defer { close(peer) }
    let passed = try PassedAtStart(
      [
        (end, "c"), (endAgain, "c"), (all.listener, "c"), (all.idle, "c"), (all.null, "f1"), (once, "f2"),
        (twice, "f3"), (all.datagram, "f01"), (all.internet, "f"), (try foreignFile(), "f4"),
      ], isStoreKept: true)
    #expect(
      passed.foreign == [
        .init(name: "c", flaw: "a connection that is there already"), .init(name: "c", flaw: "no connection"),
        .init(name: "c", flaw: "no connection"), .init(name: "f1", flaw: "no sealed file in memory"),
        .init(name: "f3", flaw: "a file that is there already"),
        .init(name: "f01", flaw: "no listening Unix stream socket"),
        .init(name: "f", flaw: "no listening Unix stream socket"),
        .init(name: "f4", flaw: "no sealed file in memory"),
      ])
    #expect(passed.takeListening() == [])
    #expect(passed.connectionCount == 1)
    #expect(passed.fileInodes == [inode])
    #expect(passed.storedCount == 10)
  }

  @Test("that a socket's unit calls as only what is stored is called is an error that says so")
  func reservedName() throws {
    let all = try Descriptors()
    let error = #expect(throws: PassedAtStart.PassedError.self) {
      _ = try PassedAtStart([(all.listener, "c"), (all.null, "odd")], isStoreKept: false)
    }
    #expect(
      error?.description
        == """
        what was passed as descriptor \(all.listener) ("c", a name that only what is stored has), \(all.null) ("odd") \
        is no listening Unix stream socket
        """)
  }

  @Test("says who connected where the state is not to be believed")
  func peers() throws {
    let (end, peer) = try connection()
    defer { close(peer) }
    let number = try cookie(of: end)
    let passed = try PassedAtStart([(end, "c")], isStoreKept: true)
    #expect(passed.peer(cookie: number) == nil)
    passed.knowsPeers = true
    let credentials = passed.peer(cookie: number)
    #expect(credentials?.pid == getpid() && credentials?.uid == getuid() && credentials?.gid == getgid())
    #expect(passed.peer(cookie: number + 1) == nil)
  }

  @Test("names are one word each, and are read as they were written")
  func names() {
    let names: [(StoredName, String)] = [
      (.state, "state"), (.connection, "c"), (.file(0), "f0"), (.file(35), "fz"), (.file(36), "f10"),
      (.file(.max), "f3w5e11264sgsf"),
    ]
    for (name, text) in names {
      #expect(name.description == text)
      #expect(StoredName(text) == name)
    }
    for text in ["", "f", "F1", "fA", "f01", "f+1", "f-1", "f3w5e11264sgsg", "cc", "State", "stored"] {
      #expect(StoredName(text) == nil)
    }
  }
}
