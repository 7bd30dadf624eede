// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("Replies about leases", .timeLimit(.minutes(15)))
struct LeaseReplyTests {
  private static let owner = """
    {"host":"db1","present":false,"since":0,"label":"backup","pid":42,"uid":0,"unit":"b.service","running":null}
    """

  private func owners(of reply: LeaseReply?) -> [ListedOwner] {
    switch reply {
    case .busy(let owners), .absent(let owners): owners
    case .broken(let owner): [owner]
    default: []
    }
  }

  @Test("A reply describes the change")
  func states() {
    #expect(LeaseReply("{\"state\":\"acquired\",\"again\":false}") == .acquired(again: false))
    // Without `again`, the lease is not returned: the host may need it.
    #expect(LeaseReply("{\"state\":\"acquired\"}") == .acquired(again: true))
    #expect(LeaseReply("{\"state\":\"released\"}") == .released)
    #expect(LeaseReply("{\"state\":\"refused\",\"why\":\"x\"}") == .refused("x"))
    for text in [
      "{\"state\":\"busy\",\"owners\":[\(Self.owner)]}", "{\"state\":\"absent\",\"owners\":[\(Self.owner)]}",
      "{\"state\":\"broken\",\"owner\":\(Self.owner)}",
    ] {
      #expect(owners(of: LeaseReply(UserInfo(text))).map(\.host) == ["db1"])
    }
  }

  @Test(
    "Anything else is not a reply",
    arguments: ["", "{", "[]", "{}", "{\"state\":\"granted\"}", "\"acquired\""])
  func others(text: String) { #expect(LeaseReply(UserInfo(text)) == nil) }

  @Test("An absent host is marked, and text of other hosts is escaped")
  func ghosts() throws {
    let reply = LeaseReply(UserInfo("{\"state\":\"busy\",\"owners\":[\(Self.owner)]}"))
    let line = try #require(owners(of: reply).first).line
    #expect(line.hasPrefix("db1 has it since 1970-01-01 "))
    #expect(line.contains(", for backup (pid 42, b.service); that host is not there"))
    let odd = LeaseReply(
      "{\"state\":\"busy\",\"owners\":[{\"host\":\"a\\u001b\",\"present\":true,\"since\":-1},7]}")
    #expect(owners(of: odd).first?.line.contains("\u{1B}") == false)
  }
}
