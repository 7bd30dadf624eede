// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport

@testable import TribuneServer

@Suite("Timeouts", .timeLimit(.minutes(15)))
struct TimeoutsTests {
  @Test("come due in their order, regardless of the order in which they were added", arguments: Seeds.all)
  func order(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var timeouts = Timeouts()
    var expected: [(due: UInt64, kind: Timeouts.Kind)] = []
    var now: UInt64 = 0
    for number in 0..<500 {
      let due = now + UInt64.random(in: 0...100, using: &random)
      let kind = Timeouts.Kind.allCases[number % Timeouts.Kind.allCases.count]
      timeouts.insert(kind, .listener(Int(due)), due: Instant(nanoseconds: due))
      expected.append((due, kind))
      now += UInt64.random(in: 0...(number < 250 ? 1 : 5), using: &random)
      var last: UInt64 = 0
      while let (kind, token) = timeouts.popDue(at: Instant(nanoseconds: now)) {
        let place = expected.firstIndex { $0.kind == kind && token == .listener(Int($0.due)) }
        guard let place else {
          Issue.record("\(kind) \(token) was not added, or was due before")
          return
        }
        let due = expected.remove(at: place).due
        #expect(last <= due && due <= now)
        last = due
      }
      #expect(timeouts.nextDue?.nanoseconds == expected.map(\.due).min())
      #expect(expected.allSatisfy { $0.due > now })
    }
  }

  @Test("are skipped if they are settled, up to the first pending one", arguments: [0, 1, 150, 199, 200])
  func settled(count: UInt64) {
    var timeouts = Timeouts()
    for due in (0..<200 as Range<UInt64>).reversed() {
      timeouts.insert(.frame, .listener(Int(due)), due: Instant(nanoseconds: due))
    }
    timeouts.drop { timeout in
      guard case .listener(let number) = timeout.token else { return false }
      return number < count || number > count + 3
    }
    #expect(timeouts.nextDue == (count < 200 ? Instant(nanoseconds: count) : nil))
    let next = timeouts.popDue(at: Instant(nanoseconds: 200))?.token
    #expect(next == (count < 200 ? .listener(Int(count)) : nil))
  }
}
