// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneLog

@Suite("The last numbers of sequences")
struct SequenceTests {
  private static func last(_ log: WriteAheadLog) -> [LastNumber] {
    (0..<WriteAheadLog.sequenceCount).map { log.last(ofSequence: $0) }
  }

  @Test("are unwritten in a new log, and outlive their process")
  func adopted() throws {
    let log = try WriteAheadLog(slotCount: 1, segmentCapacity: 4096)
    #expect(Self.last(log) == [.unwritten, .unwritten, .unwritten])
    let numbers: [UInt64] = [0, 1, 0x00AB_CDEF_0123_4567]
    for (sequence, number) in numbers.enumerated() { log.setLast(number, ofSequence: sequence) }
    #expect(try Self.last(LogImage(of: log).adopted()) == numbers.map { .given($0) })
    // Numbers are capped at 56 bits.
    log.setLast(.max, ofSequence: 1)
    #expect(log.last(ofSequence: 1) == .given(1 << 56 - 1))
  }

  @Test("are known to be damaged if one byte has changed")
  func damaged() throws {
    for number in [0, 1, 255, 0x1234_5678, 1 << 56 - 1] as [UInt64] {
      let word = CheckedNumber(number)
      #expect(word.number == number)
      for byte in 0..<8 {
        for flipped in 1...255 as ClosedRange<UInt64> {
          let number = CheckedNumber(bits: word.bits ^ flipped << (8 * byte)).number
          #expect(number == nil)
        }
      }
    }
  }
}
