// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneSystem

/// What can be stored. The store takes copies.
private final class Stored: Sendable {
  let descriptor: FileDescriptor

  init() { descriptor = FileDescriptor(owning: unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)) }

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// A connection that nobody is at the other end of.
  static func connection() throws -> Stored {
    var ends: [CInt] = [-1, -1]
    let result = unsafe socketpair(
      AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends)
    try #require(result == 0)
    close(ends[1])
    return Stored(FileDescriptor(owning: ends[0]))
  }
}

@MainActor
extension DescriptorStore {
  fileprivate func store(_ stored: Stored, as name: StoredName) -> Bool { store(stored.descriptor, as: name) }

  fileprivate func store(file: Stored) -> UInt64? { store(file: file.descriptor) }

  fileprivate func forget(_ stored: Stored) { forget(connection: stored.descriptor) }
}

private func null() -> CInt { unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }

@MainActor
private func standardErrorLog() -> Log { Log(destination: .standardError) }

/// What this process writes to its standard error from now on: comes here first.
private struct StandardError {
  private let source: CInt
  private let original: CInt

  init() throws {
    var ends: [CInt] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    (source, original) = (ends[0], dup(STDERR_FILENO))
    try #require(original >= 0 && dup2(ends[1], STDERR_FILENO) >= 0)
    close(ends[1])
  }

  /// Waits for a line, passes it on, and all that comes behind it as well.
  func passLine() throws {
    var byte: UInt8 = 0
    repeat {
      try #require(unsafe read(source, &byte, 1) == 1)
      try #require(unsafe write(original, &byte, 1) == 1)
    } while byte != UInt8(ascii: "\n")
    try #require(dup2(original, STDERR_FILENO) >= 0)
  }
}

/// The lines that a process wrote.
private func lines(_ bytes: [UInt8]?) throws -> [Substring] {
  String(decoding: try #require(bytes), as: UTF8.self).split(separator: "\n")
}

/// Reads all that comes, on a thread of its own, until a barrier has.
private final class Reader: Sendable {
  private let messages: AsyncStream<String>
  let socket: NotifySocket

  init(_ socket: NotifySocket) throws {
    self.socket = socket
    let (messages, continuation) = AsyncStream<String>.makeStream()
    self.messages = messages
    try TribuneSystem.Thread.start {
      while true {
        do {
          let message = try socket.receive()
          continuation.yield("\(message.descriptors.count) \(message.text)")
          for descriptor in message.descriptors { close(descriptor) }
          if message.text == "BARRIER=1" { break }
        } catch {
          continuation.yield("\(error)")
          break
        }
      }
      continuation.finish()
    }
  }

  var all: [String] {
    get async {
      var all: [String] = []
      for await message in messages { all.append(message.replacing("\n", with: " ")) }
      return all
    }
  }
}

@Suite("The descriptor store", .timeLimit(.minutes(15)))
struct DescriptorStoreTests {
  @Test("is there where the manager says how much it keeps, or the unit does for it")
  func capacity() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let log = standardErrorLog()
        unsafe setenv("FDSTORE", "7", 1)
        #expect(DescriptorStore(log: log) == nil)
        let socket = try NotifySocket()
        for (fdstore, own, capacity) in [
          ("7", nil, 7), ("7", "9", 7), (nil, "9", 9), (nil, nil, nil), ("", "", nil), ("0", nil, nil),
          (nil, "-1", nil), (nil, "many", nil),
        ] as [(String?, String?, Int?)] {
          for (name, value) in [("FDSTORE", fdstore), ("TRIBUNE_FDSTORE", own)] {
            unsafe unsetenv(name)
            if let value { unsafe setenv(name, value, 1) }
          }
          #expect(DescriptorStore.offeredCapacity == capacity)
          #expect(DescriptorStore(log: log)?.capacity == capacity)
        }
        withExtendedLifetime(socket) {}
      }
    }
  }

  @Test("is missed only where there is a manager")
  func missing() async throws {
    let result =
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        try await MainActor.run {
          unsafe unsetenv("NOTIFY_SOCKET")
          #expect(DescriptorStore(log: standardErrorLog()) == nil)
          let socket = try NotifySocket()
          #expect(DescriptorStore(log: standardErrorLog()) == nil)
          withExtendedLifetime(socket) {}
        }
      }
    let lines = try lines(result?.standardErrorContent)
    #expect(lines.count == 1)
    #expect(lines.first?.contains("FileDescriptorStoreMax=") == true)
  }

  @Test("has what it was given, the state first, and knows when the manager has taken it all")
  func stores() async {
    await #expect(processExitsWith: .success) {
      let socket = try NotifySocket()
      unsafe setenv("FDSTORE", "1000", 1)
      try await MainActor.run {
        let store = try #require(DescriptorStore(log: standardErrorLog()))
        // Nothing is read yet. What the socket takes has gone, and the rest waits.
        let first = try Stored.connection()
        #expect(store.store(first, as: .connection))
        let message = try socket.receive()
        #expect(message.text == "FDSTORE=1\nFDNAME=c")
        try #require(message.descriptors.count == 1)
        let copy = Stored(FileDescriptor(owning: message.descriptors[0]))
        let cookie = try UnixSocket.cookie(of: copy.descriptor)
        let original = try UnixSocket.cookie(of: first.descriptor)
        #expect(cookie == original)
      }
      let reading = try Reader(socket)
      try await MainActor.run {
        let store = try #require(DescriptorStore(log: standardErrorLog()))
        let file = Stored()
        for _ in 0..<600 { #expect(store.store(file, as: .connection)) }
        let one = store.store(file: file)
        let two = store.store(file: file)
        #expect(one == 1 && two == 2)
        #expect(store.store(file, as: .state))
        store.remove(file: 1)
        store.removeState()
        #expect(store.count == 601)
        #expect(store.flush(within: .seconds(60)))
      }
      let all = await reading.all
      let counts = all.filter { $0.hasSuffix(" FDSTORE=1 FDNAME=c") }.compactMap {
        Int($0.prefix { $0 != " " })
      }
      #expect(counts.reduce(0, +) == 600)
      #expect(counts.allSatisfy { $0 <= 253 })
      let state = try #require(all.firstIndex(of: "1 FDSTORE=1 FDNAME=state FDPOLL=0"))
      let stateRemoval = try #require(all.firstIndex(of: "0 FDSTOREREMOVE=1 FDNAME=state"))
      #expect(state < stateRemoval)
      #expect(all.contains("1 FDSTORE=1 FDNAME=f2 FDPOLL=0"))
      // The first was taken back before it was sent, or is taken out again.
      #expect(
        all.contains("1 FDSTORE=1 FDNAME=f1 FDPOLL=0") == all.contains("0 FDSTOREREMOVE=1 FDNAME=f1"))
      #expect(all.last == "1 BARRIER=1")
    }
  }

  @Test("refuses what it has no room for, until somebody goes")
  func full() async {
    await #expect(processExitsWith: .success) {
      let socket = try NotifySocket()
      unsafe setenv("FDSTORE", "3", 1)
      try await MainActor.run {
        let store = try #require(DescriptorStore(log: standardErrorLog()))
        let client = try Stored.connection()
        let file = Stored()
        #expect(store.store(file, as: .state))
        #expect(store.store(client, as: .connection))
        #expect(store.store(file: file) == 1)
        #expect(!store.store(client, as: .connection))
        #expect(store.store(file: file) == nil)
        #expect(store.count == 3)
        store.forget(client)
        #expect(store.store(file: file) == 2)
        #expect(!store.store(client, as: .connection))
        store.remove(file: 1)
        #expect(store.store(client, as: .connection))
        store.removeState()
        #expect(store.store(file, as: .state))
        #expect(store.count == 3)
      }
      withExtendedLifetime(socket) {}
    }
  }

  @Test("refuses what no descriptor can be had for")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      let socket = try NotifySocket()
      unsafe setenv("FDSTORE", "30", 1)
      try await MainActor.run {
        let store = try #require(DescriptorStore(log: standardErrorLog()))
        let file = Stored()
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        try #require(unsafe getrlimit(resource, &limit) == 0)
        let before = limit.rlim_cur
        limit.rlim_cur = rlim_t(file.descriptor.rawValue)
        try #require(unsafe setrlimit(resource, &limit) == 0)
        let isStored = store.store(file, as: .connection)
        limit.rlim_cur = before
        try #require(unsafe setrlimit(resource, &limit) == 0)
        #expect(!isStored)
        #expect(store.count == 0)
        #expect(store.store(file, as: .connection))
      }
      withExtendedLifetime(socket) {}
    }
  }

  @Test("waits for no manager that does not read")
  func stuck() async {
    await #expect(processExitsWith: .success) {
      let socket = try NotifySocket()
      unsafe setenv("FDSTORE", "10000", 1)
      try await MainActor.run {
        let store = try #require(DescriptorStore(log: standardErrorLog()))
        let file = Stored()
        // Each is a message of its own, and thousands of messages are more than any socket takes.
        for number in 1...5_000 { #expect(store.store(file: file) == UInt64(number)) }
        for number in 1...5_000 { store.remove(file: UInt64(number)) }
        let client = try Stored.connection()
        #expect(store.store(client, as: .connection))
        #expect(!store.flush(within: .milliseconds(1)))
        // Nor does it keep open what nobody is to be sent any more.
        store.forget(client)
        #expect(store.count == 0)
        #expect(!store.hasFailed)
      }
      withExtendedLifetime(socket) {}
    }
  }

  @Test("that leads nowhere is logged once, and the bus is told that nothing survives")
  func nowhere() async throws {
    let result =
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        unsafe setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
        unsafe setenv("FDSTORE", "10", 1)
        let store = try await MainActor.run { try #require(DescriptorStore(log: standardErrorLog())) }
        let output = try StandardError()
        await MainActor.run { _ = store.store(Stored(), as: .connection) }
        // It logs that it has failed.
        try output.passLine()
        await MainActor.run {
          #expect(store.hasFailed)
          #expect(!store.store(Stored(), as: .connection))
          #expect(!store.flush(within: .seconds(60)))
        }
      }
    let lines = try lines(result?.standardErrorContent)
    #expect(lines.count == 1)
    #expect(lines.first?.hasPrefix("tribuned: cannot store descriptors at $NOTIFY_SOCKET") == true)
  }

  @Test("counts what was passed from it, numbers files past those, and takes out what is foreign")
  func passed() async throws {
    let result =
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let socket = try NotifySocket()
        unsafe setenv("FDSTORE", "100", 1)
        let store = try await MainActor.run {
          let memory = try SharedFile(length: 1)
          let file = fcntl(memory.rawDescriptor, F_DUPFD_CLOEXEC, 0)
          let names = ["f5", "odd", "odd", "c", "f9", "f5"]
          let rest = names.dropFirst().map { (descriptor: null(), name: $0) }
          let passed = try PassedAtStart([(file, "f5")] + rest + [(null(), "state")], isStoreKept: true)
          let store = try #require(DescriptorStore(log: standardErrorLog(), holding: passed))
          // A file and a state, and two that cannot be taken out without what is the bus's.
          #expect(store.count == 4)
          #expect(store.store(file: Stored()) == 10)
          return store
        }
        var removed: Set<String> = []
        for _ in 0..<2 { removed.insert(try socket.receive().text) }
        #expect(removed == ["FDSTOREREMOVE=1\nFDNAME=odd", "FDSTOREREMOVE=1\nFDNAME=f9"])
        #expect(try socket.receive().text == "FDSTORE=1\nFDNAME=fa\nFDPOLL=0")
        withExtendedLifetime(store) {}
      }
    let lines = try lines(result?.standardErrorContent)
    #expect(lines.count == 1)
    #expect(lines.first?.contains("\"odd\" (no listening Unix stream socket)") == true)
  }

  @Test("that is smaller than what the configuration allows is spoken of, with what to do about it")
  func check() async throws {
    let result =
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let socket = try NotifySocket()
        try await MainActor.run {
          // The state, and two places for a hand-over.
          unsafe setenv("FDSTORE", "1127", 1)
          let small = try #require(DescriptorStore(log: standardErrorLog()))
          small.check(connectionsMax: 100, filesMax: 1024)
          small.check(connectionsMax: 101, filesMax: 1024)
          // Where files alone take all, fewer connections are of no use.
          unsafe setenv("FDSTORE", "1027", 1)
          let tiny = try #require(DescriptorStore(log: standardErrorLog()))
          tiny.check(connectionsMax: 1, filesMax: 1024)
          unsafe setenv("FDSTORE", "1000000", 1)
          let large = try #require(DescriptorStore(log: standardErrorLog()))
          large.check(connectionsMax: 50_000, filesMax: 1024)
          large.check(connectionsMax: 100_000, filesMax: 1024)
        }
        withExtendedLifetime(socket) {}
      }
    let lines = try lines(result?.standardErrorContent)
    try #require(lines.count == 3)
    #expect(
      lines[0].hasSuffix(
        "Set FileDescriptorStoreMax= of the service, and TRIBUNE_FDSTORE= beside it, to 1128, "
          + "or ConnectionsMax= to 100"))
    #expect(lines[1].hasSuffix("beside it, to 1028"))
    #expect(lines[2].contains("of ConnectionsMax=100000, no more than "))
  }
}
