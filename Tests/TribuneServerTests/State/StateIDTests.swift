// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

@testable import TribuneServer

@MainActor @Suite("The ids that a state says were given")
struct StateIDTests {
  private static func ids(_ state: StateFile) -> [StateLastID] { StateID.allCases.map { state.last($0) } }

  @Test("are none in a new state, and outlive its daemon")
  func adopted() throws {
    let state = try StateFile(cellCount: 1, areaLength: 4096)
    #expect(Self.ids(state) == [.unwritten, .unwritten, .unwritten])
    let numbers: [UInt64] = [0, 1, 0x00AB_CDEF_0123_4567]
    for (id, number) in zip(StateID.allCases, numbers) { state.setLast(id, number) }
    #expect(try Self.ids(StateImage(of: state).adopted()) == numbers.map { .given($0) })
    // So many are never given, and it is not taken for fewer.
    state.setLast(.query, .max)
    #expect(state.last(.query) == .given(1 << 56 - 1))
  }

  @Test("are known to be damaged where one bit, or one byte, is not what was written")
  func damaged() throws {
    for number in [0, 1, 255, 0x1234_5678, 1 << 56 - 1] as [UInt64] {
      let word = StateIDWord(number)
      #expect(word.number == number)
      for byte in 0..<8 {
        for flipped in 1...255 as ClosedRange<UInt64> {
          let number = StateIDWord(bits: word.bits ^ flipped << (8 * byte)).number
          #expect(number == nil)
        }
      }
    }
  }
}
