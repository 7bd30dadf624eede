// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore

@testable import TribuneServer

@MainActor
@Suite("Shares of the time of an iteration")
struct TimeSharesTests {
  private final class Clock {
    var now: UInt64 = 1_000_000_000
  }

  private let clock = Clock()
  private let timeShares: TimeShares
  private let (greedy, other, third): (User, User, User)

  init() {
    let users = UserTable(Accounts())
    (greedy, other, third) = (users[1], users[2], users[3])
    timeShares = TimeShares { [clock] in clock.now }
    begin()
  }

  private func begin() { timeShares.begin(at: Instant(nanoseconds: clock.now)) }

  private func handleAll(of user: User, nanoseconds: UInt64, isMuchWork: Bool = true) -> Int {
    for count in 0..<100_000 {
      guard timeShares.hasTime(for: user, isMuchWork: isMuchWork) else { return count }
      clock.now += nanoseconds
    }
    return 100_000
  }

  @Test("A user has half of it, all users have the whole, and a user without time handles one frame")
  func shares() {
    let half = TimeShares.iterationNanosecondsMax / 2
    #expect(handleAll(of: greedy, nanoseconds: half / 4) == 4)
    #expect(!timeShares.hasTime(for: greedy, isMuchWork: false))
    #expect(handleAll(of: other, nanoseconds: half / 4) == 4)
    #expect(!timeShares.hasTime(for: greedy, isMuchWork: true))
    #expect(handleAll(of: third, nanoseconds: half / 4) == 1)
    #expect(!timeShares.hasTime(for: other, isMuchWork: true))
  }

  @Test("It counts as long unless it had a single frame of little work")
  func longest() {
    func longest() -> UInt64 { timeShares.longestIterationNanoseconds(at: Instant(nanoseconds: clock.now)) }
    _ = timeShares.hasTime(for: greedy, isMuchWork: true)
    clock.now += 5_000_000
    timeShares.end()
    #expect(longest() == 0)
    let works: [() -> Void] = [
      { timeShares.markMuchWork() }, { timeShares.beginCharging(greedy) },
      {
        _ =
          timeShares.hasTime(for: greedy, isMuchWork: false)
          && timeShares.hasTime(for: other, isMuchWork: false)
      },
    ]
    for (number, work) in works.enumerated() {
      begin()
      work()
      clock.now += UInt64(number + 1) * 10_000_000
      timeShares.end()
      #expect(longest() == UInt64(number + 1) * 10_000_000)
    }
    #expect(timeShares.iterationCount == 4)
  }

  @Test("One long frame delays every other user, but no second one follows", arguments: [false, true])
  func long(isMuchWork: Bool) {
    #expect(handleAll(of: greedy, nanoseconds: 100 * TimeShares.iterationNanosecondsMax) == 1)
    #expect(timeShares.isTight)
    for _ in 0..<200 { #expect(!timeShares.hasTime(for: greedy, isMuchWork: isMuchWork)) }
    #expect(timeShares.hasTime(for: other, isMuchWork: true))
  }

  @Test("One user's time is not charged to another whose frames come between")
  func between() {
    for _ in 0..<3 {
      _ = timeShares.hasTime(for: greedy, isMuchWork: false)
      clock.now += TimeShares.iterationNanosecondsMax
      #expect(timeShares.hasTime(for: other, isMuchWork: false))
    }
    #expect(!timeShares.hasTime(for: greedy, isMuchWork: false))
  }

  @Test("Frames of little work are counted, so the clock is read once for several")
  func little() {
    let count = handleAll(of: greedy, nanoseconds: TimeShares.iterationNanosecondsMax, isMuchWork: false)
    #expect(count == TimeShares.framesPerLook)
  }

  @Test("After a frame of much work, the clock is read")
  func late() {
    for _ in 0..<2 {
      #expect(timeShares.hasTime(for: greedy, isMuchWork: false))
      clock.now += TimeShares.iterationNanosecondsMax / 4
      timeShares.markMuchWork()
      #expect(timeShares.isTight)
    }
    #expect(!timeShares.hasTime(for: greedy, isMuchWork: false))
  }

  @Test("Time can be counted for a user without a frame")
  func counted() {
    timeShares.beginCharging(greedy)
    clock.now += TimeShares.iterationNanosecondsMax
    #expect(timeShares.hasTime(for: other, isMuchWork: false))
    #expect(!timeShares.hasTime(for: greedy, isMuchWork: false))
  }

  @Test("However many users there are, root waits for few of them, and each has a turn in time")
  func manyUsers() {
    let table = UserTable(Accounts(privileged: [0]))
    let (root, users) = (table[0], (1...1000 as ClosedRange<UInt32>).map { table[$0] })
    var served: [UInt32: Int] = [:]
    let rounds = users.count / TimeShares.lateUsersMax + 2
    for round in 0..<3 * rounds {
      var count = 0
      for user in users where timeShares.hasTime(for: user, isMuchWork: true) {
        clock.now += TimeShares.iterationNanosecondsMax
        #expect(served[user.uid, default: round] >= round - rounds)
        served[user.uid] = round
        count += 1
      }
      #expect(count <= 1 + TimeShares.lateUsersMax)
      #expect(timeShares.hasTime(for: root, isMuchWork: true))
      clock.now += 1
      #expect(!timeShares.hasTime(for: root, isMuchWork: true))
      begin()
    }
    #expect(served.count == users.count)
  }

  @Test("All lists together have a tenth of it")
  func lists() {
    #expect(handleAll(of: greedy, nanoseconds: TimeShares.iterationNanosecondsMax) == 1)
    var count = 0
    while count < 100, timeShares.hasTimeToList() {
      let began = clock.now
      for _ in 0..<3 where timeShares.hasTimeToList(since: began) {
        clock.now += TimeShares.iterationNanosecondsMax / 100
        count += 1
      }
      timeShares.chargeListing(since: began)
    }
    #expect(count == 10)
    begin()
    #expect(timeShares.hasTimeToList())
  }

  @Test("All users have their full time in the next one")
  func next() {
    #expect(handleAll(of: greedy, nanoseconds: TimeShares.iterationNanosecondsMax) == 1)
    begin()
    #expect(handleAll(of: greedy, nanoseconds: TimeShares.iterationNanosecondsMax) == 1)
  }
}
