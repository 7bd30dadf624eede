// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("The log's use between two compactions")
struct LogTurnoverTests {
  private let turnover = LogTurnover()
  private let users = UserTable(Accounts(privileged: [0]))

  private func fill(_ uid: UInt32) -> Int {
    for count in 0..<1_000_000 {
      if users[uid].waitsForCompaction.value { return count }
      turnover.charge(744, to: users[uid])
    }
    return 1_000_000
  }

  @Test("is half of the space for all users, and each user leaves something to the next")
  func shares() {
    turnover.begin(space: 8_000_000)
    let counts = (1...20 as ClosedRange<UInt32>).map { fill($0) }
    #expect(counts[0] >= 2000 && counts[0] <= 2002)
    #expect(counts.allSatisfy { $0 > 0 })
    #expect(counts.reduce(0, +) * 1000 < 4_100_000)
    #expect(turnover.isAwaited)
  }

  @Test("is not limited for privileged users, and is reset by each compaction")
  func anew() {
    turnover.begin(space: 8_000_000)
    #expect(fill(0) == 1_000_000)
    #expect(fill(1) > 0 && fill(1) == 0)
    turnover.begin(space: 8_000_000)
    #expect(!turnover.isAwaited && fill(1) > 1000)
  }
}
