// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneNATS

@Suite("Requests and notices about leases", .timeLimit(.minutes(15)))
struct LeaseRequestTests {
  private static let id = String(repeating: "a", count: 32)

  private func request(_ verb: String, _ userInfo: String, object: String = "db") throws -> LeaseRequest {
    try LeaseRequest(
      Question("cluster.lease.\(verb)", object: object, userInfo: UserInfo(userInfo), wantsValue: true))
  }

  @Test(
    "A valid request is parsed",
    arguments: [
      ("acquire", "{\"id\":\"\(id)\"}", .acquire(id: id, slots: 1, label: "")),
      ("acquire", "{\"id\":\"\(id)\",\"slots\":64,\"label\":\"x\"}", .acquire(id: id, slots: 64, label: "x")),
      ("release", "", .release(id: nil)), ("release", "{\"id\":\"\(id)\"}", .release(id: id)),
      ("break", "{\"host\":\"db1\",\"why\":\"x\"}", .remove(host: "db1", why: "x")), ("list", "", .list),
      ("break", "{\"host\":\"fleetlock:a\",\"why\":\"x\"}", .remove(host: "fleetlock:a", why: "x")),
    ] as [(String, String, LeaseRequest)])
  func right(verb: String, userInfo: String, expected: LeaseRequest) throws {
    #expect(try request(verb, userInfo) == expected)
  }

  @Test(
    "A mistake is named",
    arguments: [
      ("acquire", "", "\"id\""), ("acquire", "{\"id\":\"\(id)0\"}", "\"id\""), ("acquire", "{", "not JSON"),
      ("acquire", "{\"id\":\"\(id)\",\"slots\":0}", "\"slots\""),
      ("acquire", "{\"id\":\"\(id)\",\"slots\":\"1\"}", "\"slots\""), ("release", "{\"id\":\"\"}", "\"id\""),
      ("break", "{\"why\":\"x\"}", "\"host\""), ("break", "{\"host\":\"a b\",\"why\":\"x\"}", "\"host\""),
      ("break", "{\"host\":\"db1\"}", "\"why\""), ("break", "{\"host\":\"db1\",\"why\":\" \"}", "\"why\""),
    ])
  func wrong(verb: String, userInfo: String, message: String) {
    #expect {
      try request(verb, userInfo)
    } throws: {
      ($0 as? LeaseRequest.Mistake)?.message.contains(message) == true
    }
  }

  @Test("A lease needs a valid name", arguments: ["", "a b", "a..b", "*", ">"])
  func names(object: String) {
    #expect(throws: LeaseRequest.Mistake(message: "the object is not the name of a lease")) {
      try request("release", "", object: object)
    }
  }

  @Test(
    "A notice is read as it was sent",
    arguments: [
      .released(owner: nil), .released(owner: "fleetlock:a:b"),
      .broken(owner: "db1", why: "its disk: 100 % ä"),
      .broken(owner: "fleetlock:a", why: "x"),
    ] as [LeaseNotice])
  func notices(notice: LeaseNotice) throws {
    #expect(try LeaseNotice(ClusterMessage("s", headers: notice.headers)) == notice)
  }

  @Test(
    "An invalid notice is dropped",
    arguments: [
      [:], [.kind: "x"], [.kind: "release", .object: "a b"], [.kind: "break"],
      [.kind: "break", .object: "a b"],
      [.kind: "break", .object: "db1", .reason: "%"],
    ] as [[ClusterMessage.Header: String]])
  func noNotice(headers: [ClusterMessage.Header: String]) {
    #expect(throws: EnvelopeError.self) { try LeaseNotice(ClusterMessage("s", headers: headers)) }
  }
}
