// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tribune

@Suite struct DeliveryStreamTests {
  enum Parcel: LossReporting, Equatable {
    case parcel(Int, mebibytes: Int)
    case lost(Int)
    case interrupted

    var lostCount: Int? { if case .lost(let count) = self { count } else { nil } }

    var isInterrupted: Bool { self == .interrupted }

    var byteCount: Int { if case .parcel(_, let mebibytes) = self { mebibytes << 20 } else { 0 } }
  }

  @Test func theOldestAreDroppedBeyondTheLimitOfBytes() async throws {
    let stream = DeliveryStream<Parcel>(limit: 100)
    for number in 1...5 { stream.deliver(.parcel(number, mebibytes: 20)) }
    #expect(try await stream.next() == .lost(2))
    for number in 3...5 { #expect(try await stream.next() == .parcel(number, mebibytes: 20)) }
    for number in 6...8 { stream.deliver(.parcel(number, mebibytes: 20)) }
    for number in 6...8 { #expect(try await stream.next() == .parcel(number, mebibytes: 20)) }
  }

  @Test func anUnknownLossStaysUnknownWhenItsReportIsDropped() async throws {
    let stream = DeliveryStream<Parcel>(limit: 2)
    stream.deliver(.parcel(1, mebibytes: 1))
    stream.deliver(.interrupted)
    for number in 2...4 { stream.deliver(.parcel(number, mebibytes: 1)) }
    stream.finish(nil)
    #expect(try await stream.next() == .lost(2))
    #expect(try await stream.next() == .interrupted)
    for number in 3...4 { #expect(try await stream.next() == .parcel(number, mebibytes: 1)) }
  }

  @Test func changesWaitForTheSnapshot() async throws {
    let stream = DeliveryStream<Parcel>(limit: 4)
    stream.bufferChanges()
    for number in 1...6 { stream.deliver(.parcel(number, mebibytes: 1)) }
    for number in 11...12 { stream.deliverSnapshot(.parcel(number, mebibytes: 1)) }
    stream.addChanges()
    stream.deliver(.parcel(7, mebibytes: 1))
    // Two changes were dropped while they waited; the newest four elements stay.
    #expect(try await stream.next() == .lost(5))
    for number in 4...7 { #expect(try await stream.next() == .parcel(number, mebibytes: 1)) }
  }

  @Test func deliveriesWaitBehindAReservedPosition() async throws {
    let stream = DeliveryStream<Parcel>(limit: 4)
    stream.deliver(.parcel(1, mebibytes: 1))
    stream.reservePosition()
    stream.deliver(.parcel(2, mebibytes: 1))
    stream.reservePosition()
    for number in 3...7 { stream.deliver(.parcel(number, mebibytes: 1)) }
    #expect(try await stream.next() == .parcel(1, mebibytes: 1))
    #expect(stream.fillPosition(with: []))
    // Reserving again dropped 2; the limit of four dropped 3, which is reported.
    #expect(try await stream.next() == .lost(1))
    for number in 4...7 { #expect(try await stream.next() == .parcel(number, mebibytes: 1)) }
    #expect(!stream.fillPosition(with: [.lost(9)]))
    stream.deliver(.parcel(8, mebibytes: 1))
    stream.reservePosition()
    stream.deliver(.parcel(9, mebibytes: 1))
    stream.finish(nil)
    #expect(try await stream.next() == .parcel(8, mebibytes: 1))
    #expect(try await stream.next() == nil)
  }

  @Test func theNewestIsKeptAtAnyLength() async throws {
    let stream = DeliveryStream<Parcel>(limit: 100)
    stream.deliver(.parcel(1, mebibytes: 1))
    stream.deliver(.parcel(2, mebibytes: 1000))
    stream.finish(nil)
    #expect(try await stream.next() == .lost(1))
    #expect(try await stream.next() == .parcel(2, mebibytes: 1000))
    #expect(try await stream.next() == nil)
  }
}
