// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tribune

struct RingTests {
  /// A positive step adds elements, a negative one takes them.
  @Test(arguments: [[8, -8, 8], [5, -3, 5, -3, 5, -3, 20, -22], [1, -1, 1, -1], [100, -50, 100, -100, 7]])
  func elementsLeaveInTheOrderInWhichTheyCame(steps: [Int]) {
    var ring = Ring<Int>()
    var expected: [Int] = []
    var next = 0
    for step in steps {
      for _ in 0..<max(step, 0) {
        ring.append(next)
        expected.append(next)
        next += 1
      }
      for _ in 0..<max(-step, 0) {
        #expect(ring.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()))
      }
      #expect(ring.count == expected.count)
    }
    while let number = ring.popFirst() { #expect(number == expected.removeFirst()) }
    #expect(expected.isEmpty)
  }
}
