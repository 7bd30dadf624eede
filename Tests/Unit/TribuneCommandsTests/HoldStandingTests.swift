// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("A hold after the bus was away")
struct HoldStandingTests {
  @Test(
    "was in force throughout if the bus knew it, and otherwise is in force again",
    arguments: [
      (0, "; the hold was in force all the time"), (3, "; the hold was in force all the time"),
      (nil, "; the hold is in force again, but may have been interrupted"),
    ] as [(UInt64?, String)])
  func standing(lost: UInt64?, said: String) {
    for span in [nil, Duration.seconds(3600)] {
      let standing = HoldStanding()
      standing.begin(2, for: span)
      #expect(standing.consequence(losing: lost) == said)
    }
  }

  @Test("is not mentioned before it was taken or after it expired", arguments: [0, nil] as [UInt64?])
  func notStanding(lost: UInt64?) {
    let standing = HoldStanding()
    #expect(standing.consequence(losing: lost) == "")
    #expect(standing.left == nil && !standing.isOver)
    standing.begin(1, for: .zero)
    #expect(standing.consequence(losing: lost) == "")
    #expect(standing.isOver)
  }

  @Test("is over when the last of its holds is, of which the bus may have shortened some")
  func shortened() {
    for span in [nil, Duration.seconds(3600)] {
      let standing = HoldStanding()
      standing.begin(2, for: span)
      standing.shorten(1, to: .zero)
      #expect(!standing.isOver && !standing.isShortened(0) && standing.isShortened(1))
      #expect(standing.left(of: 1).map { $0 <= .zero } == true)
      standing.shorten(0, to: .zero)
      #expect(standing.isOver)
    }
  }
}
