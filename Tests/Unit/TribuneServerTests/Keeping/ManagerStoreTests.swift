// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport

@testable import TribuneServer

/// Each test changes the environment, so it needs its own process.
@Suite("The store of the service manager", .timeLimit(.minutes(15)))
struct ManagerStoreTests {
  @Test(
    "needs a manager; gets the log, which replaces the last one, and a lease, dropped when the keeper dies")
  func stores() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let manager = try NotifySocket.ofThisProcess()
        #expect(ManagerStore.isAvailable)
        let store = try ManagerStore(log: Log(journal: nil))
        let connection = try WatchedConnection()
        store.store(log: connection.passed)
        store.store(lease: connection.passed)
        store.remove("c")
        let messages = try (0..<4).map { _ in try manager.receive() }
        #expect(
          messages.map(\.text) == [
            "FDSTOREREMOVE=1\nFDNAME=state", "FDSTORE=1\nFDNAME=state\nFDPOLL=0", "FDSTORE=1\nFDNAME=lease",
            "FDSTOREREMOVE=1\nFDNAME=c",
          ])
        #expect(messages.map(\.descriptors.count) == [0, 1, 1, 0])
        for descriptor in messages.flatMap(\.descriptors) {
          let cookie = try UnixSocket.cookie(of: FileDescriptor(owning: descriptor))
          #expect(cookie == connection.cookie)
        }
        #expect(store.nextDue == nil)
        unsafe unsetenv("NOTIFY_SOCKET")
        #expect(!ManagerStore.isAvailable)
      }
    }
  }

  @Test("gets everything later, in order, if the manager does not read, without a wait of the bus")
  func stuck() async {
    await #expect(processExitsWith: .success) {
      // Ends a wait in the kernel that would hang.
      alarm(60)
      try await MainActor.run {
        let manager = try NotifySocket.ofThisProcess()
        let filling = try manager.fill()
        let store = try ManagerStore(log: Log(journal: nil))
        let connection = try WatchedConnection()
        var isSent: Bool?
        store.store(lease: connection.passed) { isSent = $0 }
        store.store(log: connection.passed)
        #expect(isSent == nil)
        close(connection.passed)
        let due = try #require(store.nextDue)
        try manager.drain(filling)
        store.tick(at: Instant(nanoseconds: due.nanoseconds - 1))
        #expect(try !manager.waits(milliseconds: 0))
        store.tick(at: due)
        #expect(isSent == true)
        #expect(try manager.next() == "FDSTORE=1\nFDNAME=lease")
        #expect(try manager.next() == "FDSTOREREMOVE=1\nFDNAME=state")
        #expect(try manager.next() == "FDSTORE=1\nFDNAME=state\nFDPOLL=0")
        #expect(store.nextDue == nil)
        #expect(try connection.isClosed)
      }
    }
  }

  @Test("gets nothing if its socket leads nowhere, and logs that")
  func nowhere() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        try await MainActor.run {
          unsafe setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
          let store = try ManagerStore(log: Log(journal: nil))
          let connection = try WatchedConnection()
          var isSent: Bool?
          store.store(lease: connection.passed) { isSent = $0 }
          close(connection.passed)
          #expect(store.nextDue == nil)
          #expect(isSent == false)
          #expect(try connection.isClosed)
        }
      })
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 1)
    #expect(lines.first?.hasPrefix("tribuned: cannot store a descriptor at $NOTIFY_SOCKET: ") == true)
  }
}
