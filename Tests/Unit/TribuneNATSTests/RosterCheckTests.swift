// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneNATS

@Suite("Comparing rosters", .timeLimit(.minutes(15)))
struct RosterCheckTests {
  private let instance = Instance()

  private func check(_ roster: String...) -> RosterCheck {
    var settings = NATSSettings(hostName: "db1")
    settings.roster = roster
    return RosterCheck(settings)
  }

  @Test("A question with another roster, or with none, does not pass")
  func questions() {
    let check = check("db1", "db2")
    #expect(check.doubt(about: "db2", with: check.mark) == nil)
    for mark in ["", "3-0", check.mark + "0"] { #expect(check.doubt(about: "db2", with: mark) != nil) }
    #expect(self.check().doubt(about: "db2", with: "3-0") == nil)
  }

  @Test("A host that is present with another roster causes doubt until it has the same, or has gone")
  func presences() {
    let check = check("db1", "db2")
    var neighbours = Neighbours()
    func doubt(after mark: String) -> String? {
      neighbours.remember("db2", instance, rosterMark: mark, isRostered: true, at: .now)
      check.update(with: neighbours.others(than: check.mark))
      return check.doubt
    }
    #expect(doubt(after: check.mark) == nil && doubt(after: "") == nil)
    #expect(doubt(after: "3-0") == "Roster= of db2 is another one than that of db1")
    #expect(doubt(after: check.mark) == nil && doubt(after: "3-0") != nil)
    neighbours.forgetSilent(at: .now + Neighbours.silenceMax * 2)
    check.update(with: neighbours.others(than: check.mark))
    #expect(check.doubt == nil)
  }
}
