// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tribune

/// What a stream holds for a reader that does not read.
@Suite struct DeliveryStreamTests {
  /// An element that says of itself how long it is.
  enum Parcel: LossReporting, Equatable {
    case parcel(Int, mebibytes: Int)
    case lost(Int)
    case interrupted

    var lostCount: Int? {
      if case .lost(let count) = self { count } else { nil }
    }

    var byteCount: Int {
      if case .parcel(_, let mebibytes) = self { mebibytes << 20 } else { 0 }
    }
  }

  @Test func holdsNoMoreBytesThanItsLimit() async throws {
    let stream = DeliveryStream<Parcel>(limit: 100)
    for number in 1...5 { stream.deliver(.parcel(number, mebibytes: 20)) }
    #expect(try await stream.next() == .lost(2))
    for number in 3...5 { #expect(try await stream.next() == .parcel(number, mebibytes: 20)) }
    // What was read makes room again.
    for number in 6...8 { stream.deliver(.parcel(number, mebibytes: 20)) }
    for number in 6...8 { #expect(try await stream.next() == .parcel(number, mebibytes: 20)) }
  }

  @Test func whatComesMeanwhileWaitsForTheSnapshot() async throws {
    let stream = DeliveryStream<Parcel>(limit: 4)
    stream.holdChangesBack()
    for number in 1...6 { stream.deliver(.parcel(number, mebibytes: 1)) }
    for number in 11...12 { stream.deliverSnapshot(.parcel(number, mebibytes: 1)) }
    stream.letChangesCome()
    stream.deliver(.parcel(7, mebibytes: 1))
    // Of the changes the first two went while they waited; in the end the newest four are held.
    #expect(try await stream.next() == .lost(5))
    for number in 4...7 { #expect(try await stream.next() == .parcel(number, mebibytes: 1)) }
  }

  @Test func whatComesMeanwhileWaitsBehindAPlaceThatIsKept() async throws {
    let stream = DeliveryStream<Parcel>(limit: 4)
    stream.deliver(.parcel(1, mebibytes: 1))
    stream.keepPlace()
    stream.deliver(.parcel(2, mebibytes: 1))
    stream.keepPlace()
    for number in 3...7 { stream.deliver(.parcel(number, mebibytes: 1)) }
    #expect(try await stream.next() == .parcel(1, mebibytes: 1))
    #expect(stream.fillPlace(with: []))
    // What waited before the place was kept anew has gone, and the first of five: four have room.
    #expect(try await stream.next() == .lost(1))
    for number in 4...7 { #expect(try await stream.next() == .parcel(number, mebibytes: 1)) }
    #expect(!stream.fillPlace(with: [.lost(9)]))
    stream.deliver(.parcel(8, mebibytes: 1))
    stream.keepPlace()
    stream.deliver(.parcel(9, mebibytes: 1))
    stream.finish(nil)
    #expect(try await stream.next() == .parcel(8, mebibytes: 1))
    #expect(try await stream.next() == nil)
  }

  @Test func holdsTheNewestHoweverLongItIs() async throws {
    let stream = DeliveryStream<Parcel>(limit: 100)
    stream.deliver(.parcel(1, mebibytes: 1))
    stream.deliver(.parcel(2, mebibytes: 1000))
    stream.finish(nil)
    #expect(try await stream.next() == .lost(1))
    #expect(try await stream.next() == .parcel(2, mebibytes: 1000))
    #expect(try await stream.next() == nil)
  }
}
