// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune

@Suite("Accounts", .timeLimit(.minutes(15)))
struct AccountTests {
  @Test("are listed with each user's use and limits")
  func list() async throws {
    let entry = AccountEntry(
      uid: 34, weight: 3, isPrivileged: false, resource: "log", used: 4096, share: 14_745_600, total: .max)
    try await conversation { peer in
      try peer.list(.accounts, [.account(entry)])
    } client: { connection in
      let accounts = try await connection.accounts()
      #expect(
        accounts == [
          AccountInfo(
            uid: 34, weight: 3, isPrivileged: false, resource: "log", used: 4096, share: 14_745_600,
            total: .max)
        ])
    }
  }
}
