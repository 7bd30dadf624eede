// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneCore

@Suite("The share of a user")
struct AccountsTests {
  private let accounts = Accounts(privileged: [0])

  private func setTotal(_ total: Int, _ resource: SharedResource = .connections, weights: [UInt32: Int] = [:])
  {
    var limits = BusLimits()
    limits.totals[resource] = total
    limits.weights = weights
    accounts.apply(limits)
  }

  private func use(of user: UInt32) -> Int { accounts.account(of: user).uses[.connections] }

  private func refusal(
    _ amount: Int = 1, of resource: SharedResource = .connections, to user: UInt32,
    leavingOut uncounted: Int = 0
  ) -> WireError? {
    do throws(WireError) {
      try accounts.require(amount, of: resource, for: accounts.account(of: user), leavingOut: uncounted)
      return nil
    } catch {
      return error
    }
  }

  private func takeAll(_ user: UInt32) {
    while refusal(to: user) == nil { accounts.charge(1, of: .connections, to: user) }
  }

  @Test("leaves something for the next user, however much the others take")
  func greedy() {
    let total = 16_384
    setTotal(total)
    for user in 1...40 as ClosedRange<UInt32> {
      takeAll(user)
      let part = Double(total - total / 16) / (Double(user) * Double(user + 1))
      #expect(abs(Double(use(of: user)) - part) <= Double(user), "user \(user)")
      #expect(use(of: user) > 0)
    }
    // A sixteenth is reserved for privileged users.
    takeAll(0)
    #expect(use(of: 0) >= total / 16)
    #expect(accounts.used(.connections) == total)
  }

  @Test("is half for a single user, and all for a privileged one", arguments: [2, 16, 1000, 16_384])
  func alone(total: Int) {
    setTotal(total)
    takeAll(1000)
    #expect(use(of: 1000) == (total - total / 16) / 2)
    accounts.charge(-use(of: 1000), of: .connections, to: 1000)
    takeAll(0)
    #expect(use(of: 0) == total)
  }

  @Test("is refused with the total in use, including items outside of the share")
  func uncounted() {
    setTotal(1600, .log)
    accounts.charge(1440, of: .log, to: 1)
    #expect(
      refusal(10, of: .log, to: 1, leavingOut: 1440)?.message
        == "user 1 has 1440 and wants 10 more, and 1440 of 1600 bytes of the log (LogMax=) are in use; the rest is kept for others; user 1 has most, 1440"
    )
  }

  @Test("shrinks when others come, without taking anything away")
  func shrinks() {
    setTotal(160)
    takeAll(1)
    let one = accounts.account(of: 1)
    #expect(use(of: 1) == 75 && !accounts.isOverShare(of: .connections, one))
    accounts.charge(1, of: .connections, to: 2)
    #expect(accounts.isOverShare(of: .connections, one))
    #expect(accounts.share(of: .connections, for: one) == 49)
    for _ in 0..<75 { accounts.charge(-1, of: .connections, to: 1) }
    #expect(use(of: 1) == 0 && accounts.used(.connections) == 1)
  }

  @Test("is larger for a user with a weight, who counts as that many users")
  func weights() {
    setTotal(1600, weights: [7: 3])
    let (seven, eight) = (accounts.account(of: 7), accounts.account(of: 8))
    #expect(accounts.share(of: .connections, for: seven) == 1500 * 3 / 4)
    accounts.charge(100, of: .connections, to: 8)
    #expect(accounts.share(of: .connections, for: seven) == 1400 * 3 / 5)
    accounts.charge(100, of: .connections, to: 7)
    #expect(accounts.share(of: .connections, for: eight) == 1400 / 5)
    setTotal(1600, weights: [8: 2])
    #expect(accounts.share(of: .connections, for: seven) == 1400 / 4)
    #expect(accounts.share(of: .connections, for: eight) == 1400 * 2 / 4)
    accounts.charge(-100, of: .connections, to: 7)
    #expect(accounts.share(of: .connections, for: eight) == 1500 * 2 / 3)
  }

  @Test("of descriptors includes releases by other threads")
  func descriptors() throws {
    setTotal(16, .descriptors)
    let account = accounts.account(of: 5)
    account.descriptors.held.change(by: 7)
    #expect(throws: WireError.self) { try accounts.requireDescriptors(1, of: account) }
    account.descriptors.held.change(by: -1)
    try accounts.requireDescriptors(1, of: account)
    #expect(accounts.used(.descriptors) == 6)
  }

  @Test("includes ended connections until they are closed")
  func unclosedConnections() throws {
    setTotal(16)
    let (one, other) = (accounts.account(of: 1), accounts.account(of: 2))
    accounts.charge(1, of: .connections, to: other)
    for count in 1...4 {
      try accounts.require(1, of: .connections, for: one)
      accounts.chargeUnclosedConnection(to: one)
      #expect(use(of: 1) == count && accounts.used(.connections) == count + 1)
    }
    #expect(throws: WireError.self) { try accounts.require(1, of: .connections, for: one) }
    one.descriptors.unclosedConnections.change(by: -1)
    accounts.countConnections()
    try accounts.require(1, of: .connections, for: one)
    #expect(use(of: 1) == 3 && !one.isEmpty)
    accounts.chargeUnclosedConnection(to: other)
    one.descriptors.unclosedConnections.change(by: -3)
    accounts.countConnections()
    #expect(use(of: 1) == 0 && one.isEmpty && use(of: 2) == 2)
    accounts.chargeUnclosedConnection(to: one)
    other.descriptors.unclosedConnections.change(by: -1)
    accounts.countConnections()
    #expect(use(of: 1) == 1 && use(of: 2) == 1 && accounts.used(.connections) == 2)
  }

  @Test("is named in a refusal, with the resource, its setting, its use, and the largest user")
  func refused() {
    setTotal(160)
    accounts.charge(60, of: .connections, to: 9)
    takeAll(8)
    let refusal = refusal(to: 8)
    #expect(
      refusal?.message
        == "user 8 has 30, and its share is 30 of 160 connections (ConnectionsMax=); user 9 has most, 60")
    for resource in SharedResource.allCases {
      setTotal(16, resource)
      let refusal = self.refusal(17, of: resource, to: 7)
      let code: ErrorCode? =
        switch resource {
        case .connections: .tooManyConnections
        case .partialFrames: .outOfMemory
        case .descriptors, .log, .retained, .registrations, .protocols, .queues, .unreadFiles: .limitExceeded
        }
      #expect(refusal?.code == code, "\(resource)")
      #expect(refusal?.message.contains("wants 17 more, and its share is") == true, "\(resource)")
    }
  }

  @Test("is refused without a largest user if no user has any")
  func refusedAlone() {
    setTotal(160)
    accounts.charge(1, of: .log, to: 9)
    _ = accounts.account(of: 0)
    #expect(
      refusal(76, to: 8)?.message
        == "user 8 has 0 and wants 76 more, and its share is 75 of 160 connections (ConnectionsMax=)")
  }
}
