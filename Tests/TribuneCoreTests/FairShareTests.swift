// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore

@Suite("A fair share")
struct FairShareTests {
  /// Charges the user until it has too much, and takes the last charge back.
  private func takeAll(_ user: UInt32, of share: inout FairShare, total: Int, isPrivileged: Bool = false) {
    repeat {
      share.charge(to: user)
    } while share.excess(of: user, total: total, isPrivileged: isPrivileged) == nil
    share.release(of: user)
  }

  @Test("leaves something for the next user, whatever the others take")
  func greedy() {
    var share = FairShare()
    let total = 16_384
    for user in 1...40 as ClosedRange<UInt32> {
      takeAll(user, of: &share, total: total)
      let part = Double(total - total / 16) / (Double(user) * Double(user + 1))
      #expect(abs(Double(share.use(of: user)) - part) <= Double(user), "user \(user)")
      #expect(share.use(of: user) > 0)
    }
    #expect(share.largest?.user == 1)
    // A sixteenth is for privileged users, and more may be left.
    takeAll(0, of: &share, total: total, isPrivileged: true)
    #expect(share.use(of: 0) >= total / 16)
    share.charge(to: 0)
    #expect(share.excess(of: 0, total: total, isPrivileged: true) == .total)
  }

  @Test("is a half for a user who is alone, and all for a privileged one", arguments: [2, 16, 1000, 16_384])
  func alone(total: Int) {
    var share = FairShare()
    takeAll(1000, of: &share, total: total)
    #expect(share.use(of: 1000) == (total - total / 16) / 2)
    var privileged = FairShare()
    takeAll(1000, of: &privileged, total: total, isPrivileged: true)
    #expect(privileged.use(of: 1000) == total)
  }

  @Test("shrinks when others come, and says so; nothing is taken away")
  func shrinks() {
    var share = FairShare()
    takeAll(1, of: &share, total: 160)
    #expect(share.use(of: 1) == 75)
    #expect(share.excess(of: 1, total: 160, isPrivileged: false) == nil)
    share.charge(to: 2)
    #expect(share.excess(of: 2, total: 160, isPrivileged: false) == nil)
    share.charge(to: 1)
    #expect(share.excess(of: 1, total: 160, isPrivileged: false) == .share(49))
    for _ in 0..<76 { share.release(of: 1) }
    #expect(share.use(of: 1) == 0 && share.largest?.user == 2)
  }
}
