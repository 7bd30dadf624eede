// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tribune

@Suite struct DeliveryStreamTests {
  @Test func deliveriesWaitBehindAReservedPosition() async throws {
    let stream = DeliveryStream<Parcel>(limit: 4)
    stream.deliver(.parcel(1))
    stream.reservePosition()
    stream.deliver(.parcel(2))
    #expect(stream.room == 2)
    stream.reservePosition()
    #expect(stream.room == 3, "reserving again drops 2")
    for number in 3...4 { stream.deliver(.parcel(number)) }
    #expect(stream.room == 1)
    #expect(try await stream.next().element == .parcel(1))
    #expect(stream.fillPosition(with: [.lost(7)]))
    for expected in [Parcel.lost(7), .parcel(3), .parcel(4)] {
      #expect(try await stream.next().element == expected)
    }
    #expect(!stream.fillPosition(with: [.lost(9)]))
    stream.deliver(.parcel(8))
    stream.reservePosition()
    stream.deliver(.parcel(9))
    stream.finish(nil)
    #expect(try await stream.next().element == .parcel(8))
    #expect(try await stream.next().element == nil)
  }

  @Test(arguments: [1, 2, 3, 8])
  func readingMakesRoomAtHalfOfTheLimit(limit: Int) async throws {
    let stream = DeliveryStream<Parcel>(limit: limit)
    // More than the limit come if another stream had it granted before.
    for number in 0...limit { stream.deliver(.parcel(number)) }
    #expect(stream.room == 0)
    for left in (0...limit).reversed() { #expect(try await stream.next().makesRoom == (left == limit / 2)) }
    #expect(stream.room == limit)
  }

  @Test func aStreamThatIsTooLongHasNoRoomUntilItIsRead() async throws {
    let stream = DeliveryStream<Parcel>(limit: 100)
    for number in 1...3 { stream.deliver(.parcel(number, mebibytes: 16)) }
    #expect(stream.room == 0)
    #expect(try await stream.next().makesRoom)
    #expect(stream.room == 98)
    #expect(try await !stream.next().makesRoom)
  }

  @Test func lossesOneAfterTheOtherAreOne() async throws {
    let stream = DeliveryStream<Parcel>(limit: 2)
    stream.deliver(.lost(1))
    for element in [Parcel.interrupted, .lost(1), .lost(.max), .parcel(1), .lost(3)] {
      stream.deliver(element)
    }
    stream.finish(nil)
    for expected in [Parcel.lost(1), .interrupted, .lost(.max), .parcel(1), .lost(3), nil] {
      #expect(try await stream.next().element == expected)
    }
  }
}

@Suite struct BoundedQueueTests {
  @Test func theOldestAreDroppedBeyondTheLimitOfBytes() {
    var queue = BoundedQueue<Parcel>(limit: 100)
    for number in 1...5 { queue.append(.parcel(number, mebibytes: 20)) }
    #expect(queue.popFirst() == .lost(2))
    for number in 3...5 { #expect(queue.popFirst() == .parcel(number, mebibytes: 20)) }
    for number in 6...8 { queue.append(.parcel(number, mebibytes: 20)) }
    for number in 6...8 { #expect(queue.popFirst() == .parcel(number, mebibytes: 20)) }
  }

  @Test func anUnknownLossStaysUnknownWhenItsReportIsDropped() {
    var queue = BoundedQueue<Parcel>(limit: 2)
    for element in [Parcel.parcel(1), .interrupted, .parcel(2), .parcel(3), .parcel(4)] {
      queue.append(element)
    }
    for expected in [Parcel.lost(2), .interrupted, .parcel(3), .parcel(4), nil] {
      #expect(queue.popFirst() == expected)
    }
  }

  @Test func theNewestIsKeptAtAnyLength() {
    var queue = BoundedQueue<Parcel>(limit: 100)
    queue.append(.parcel(1))
    queue.append(.parcel(2, mebibytes: 1000))
    for expected in [Parcel.lost(1), .parcel(2, mebibytes: 1000), nil] {
      #expect(queue.popFirst() == expected)
    }
  }
}

enum Parcel: LossReporting, Equatable {
  case parcel(Int, mebibytes: Int = 0)
  case lost(Int)
  case interrupted

  var lostCount: Int? { if case .lost(let count) = self { count } else { nil } }

  var isInterrupted: Bool { self == .interrupted }

  var byteCount: Int { if case .parcel(_, let mebibytes) = self { mebibytes << 20 } else { 0 } }
}
