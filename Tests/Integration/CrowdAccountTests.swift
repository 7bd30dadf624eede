// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("A crowd's account")
struct CrowdAccountTests {
  private static let even = [
    "posted a 5", "posted b 3", "observed o 0", "received o a 1-5", "received o b 1-3", "asked 7",
  ]

  @Test("is even if every post arrived or was reported as lost")
  func even() throws {
    var account = CrowdAccount()
    try account.add(Self.even)
    #expect(account.problems.isEmpty)
    #expect(account.asked == 7)
    try account.add(["observed p 3", "received p a 1-2 4-5", "received p b 3-3"])
    #expect(account.problems.isEmpty)
  }

  @Test(
    "is not even if a post is missing, repeated, never posted, or wrongly reported as lost",
    arguments: [
      ["observed p 0", "received p a 1-5", "received p b 1-2"],
      ["observed p 1", "received p a 1-5", "received p b 1-3"],
      ["observed p 1", "received p a 1-5"], ["observed p 0"],
      ["observed p 0", "received p a 1-6", "received p b 1-3"],
      ["observed p 0", "received p a 1-5", "received p b 1-3", "received p c 1-1"], ["repeated o a 2"],
    ])
  func uneven(lines: [String]) throws {
    var account = CrowdAccount()
    try account.add(Self.even + lines)
    #expect(account.problems.count == 1)
  }

  @Test(
    "ignores only a post that may or may not have been sent",
    arguments: [
      ("observed p 0", "1-4", 0), ("observed p 1", "1-4", 0), ("observed p 0", "1-5", 0),
      ("observed p 1", "1-5", 1),
      ("observed p 2", "1-4", 1), ("observed p 0", "1-3", 1), ("observed p 1", "1-3", 0),
    ])
  func unsure(observed: String, range: String, problems: Int) throws {
    var account = CrowdAccount()
    try account.add(["posted a 5", "unsure a 5", observed, "received p a \(range)"])
    #expect(account.problems.count == problems)
  }
}
