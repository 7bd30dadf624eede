// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer

@Suite("Timeouts in order", .timeLimit(.minutes(2)))
struct TimeoutQueueTests {
  private static func queue(_ count: Int) -> TimeoutQueue<Int> {
    var queue = TimeoutQueue<Int>()
    for number in 0..<count { queue.append(number, due: Instant(nanoseconds: UInt64(number))) }
    return queue
  }

  @Test("come due one after the other", arguments: [0, 1, 200])
  func due(count: Int) {
    var queue = Self.queue(count)
    for number in 0..<count {
      #expect(queue.nextDue == Instant(nanoseconds: UInt64(number)))
      #expect(queue.popDue(at: Instant(nanoseconds: UInt64(number))) == number)
      #expect(queue.popDue(at: Instant(nanoseconds: UInt64(number))) == nil)
    }
    #expect(queue.nextDue == nil)
  }

  @Test("that are settled are gone past, up to the first that is not", arguments: [0, 1, 150, 199, 200])
  func settled(count: Int) {
    var queue = Self.queue(200)
    queue.drop { $0 < count || $0 > count + 3 }
    #expect(queue.nextDue == (count < 200 ? Instant(nanoseconds: UInt64(count)) : nil))
    #expect(queue.popDue(at: Instant(nanoseconds: 200)) == (count < 200 ? count : nil))
  }
}
