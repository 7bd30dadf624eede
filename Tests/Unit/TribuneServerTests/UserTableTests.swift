// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore

@testable import TribuneServer

@MainActor
@Suite("The server's users")
struct UserTableTests {
  private let accounts = Accounts()
  private let users: UserTable

  init() { users = UserTable(accounts) }

  @Test("stay as long as the core charges them")
  func charged() {
    let user = users[1]
    accounts.charge(1, of: .connections, to: user.account)
    for uid in 2...1000 as ClosedRange<UInt32> { _ = users[uid] }
    #expect(users[1] === user)
  }

  @Test("have the accounts of the core, which replaces empty ones")
  func replaced() {
    let user = users[1]
    for uid in 2...1000 as ClosedRange<UInt32> { _ = accounts.account(of: uid) }
    #expect(accounts.account(of: 1) !== user.account)
    #expect(users[1].account === accounts.account(of: 1))
  }
}
