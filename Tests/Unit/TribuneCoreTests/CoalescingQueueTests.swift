// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("A coalescing queue", .timeLimit(.minutes(15)))
struct CoalescingQueueTests {
  @Test("It returns its elements in order, except for those that were removed", arguments: Seeds.all)
  func likeAnArray(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var queue = CoalescingQueue<Int>()
    var model: [(element: Int, keys: [String])] = []
    for element in 0..<3000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let keys = (0..<3).map { "\($0)\(Int.random(in: 0..<6, using: &random))" }
        queue.append(element, keys: keys.map(ExactText.init), byteCount: element)
        model.append((element, keys))
      case 6 where element % 8 == 0:
        #expect(queue.remove { $0 % 3 == 0 } == model.map(\.element).filter { $0 % 3 == 0 })
        model.removeAll { $0.element % 3 == 0 }
      case 6..<8:
        let key = "\(Int.random(in: 0..<3, using: &random))\(Int.random(in: 0..<6, using: &random))"
        #expect(queue.remove(under: ExactText(key)) == model.filter { $0.keys.contains(key) }.map(\.element))
        model.removeAll { $0.keys.contains(key) }
      default:
        #expect(queue.first == model.first?.element)
        let popped = queue.popFirst()
        #expect(popped == (model.isEmpty ? nil : model.removeFirst().element))
      }
      #expect(queue.count == model.count)
      #expect(queue.isEmpty == model.isEmpty)
      #expect(queue.byteCount == model.reduce(0) { $0 + $1.element })
    }
  }

  @Test("Replacing one element repeatedly does not take more memory")
  func bounded() {
    var queue = CoalescingQueue<Int>()
    queue.append(-1, keys: [ExactText("first")], byteCount: 1)
    for element in 0..<10_000 {
      _ = queue.remove(under: ExactText("b"))
      queue.append(element, keys: [ExactText("a"), ExactText("b"), ExactText("\(element)")], byteCount: 1)
    }
    #expect(queue.count == 2)
    #expect(queue.placeCount < 200)
    #expect(queue.remove(under: ExactText("a")) == [9_999])
    #expect(queue.popFirst() == -1)
    #expect(queue.placeCount == 0)
  }
}
