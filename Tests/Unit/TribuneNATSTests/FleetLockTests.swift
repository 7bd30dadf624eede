// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneHTTP
import TribuneSystem

@testable import TribuneNATS

@Suite("Calls of FleetLock", .timeLimit(.minutes(15)))
struct FleetLockTests {
  private static func request(
    _ method: String = "POST", _ path: String = "/v1/pre-reboot", _ fields: [String: [String]] = [:]
  ) -> HTTPRequest {
    let usual = [
      "host": ["localhost"], "fleet-lock-protocol": ["true"], "content-length": ["100"],
    ]
    return HTTPRequest(method, path, fields: usual.merging(fields) { $1 })
  }

  @Test("There are two calls")
  func calls() throws {
    let site = FleetLockSite(HTTPAccess())
    #expect(try site.call(for: Self.request()) == .preReboot)
    #expect(try site.call(for: Self.request("POST", "/v1/steady-state")) == .steadyState)
    #expect(
      try site.call(for: Self.request("POST", "/v1/pre-reboot", ["content-length": ["4096"]])) == .preReboot)
  }

  private static let others: [(HTTPRequest, FleetLockError.Kind)] = [
    (request("GET"), .methodNotAllowed), (request("HEAD"), .methodNotAllowed),
    (request("POST", "/"), .notFound), (request("POST", "/v1/pre-reboot/x"), .notFound),
    (request("POST", "/v1/steady-state", ["host": ["evil.example"]]), .wrongHost),
    (request("POST", "/v1/steady-state", ["host": ["localhost", "localhost"]]), .wrongHost),
    (request("POST", "/v1/steady-state", ["sec-fetch-site": ["cross-site"]]), .crossSite),
    (request("POST", "/v1/steady-state", ["fleet-lock-protocol": ["1"]]), .noFleetLock),
    (request("POST", "/v1/steady-state", ["fleet-lock-protocol": ["true", "true"]]), .noFleetLock),
    (request("POST", "/v1/steady-state", ["content-length": ["4097"]]), .bodyTooLong),
    (request("POST", "/v1/steady-state", ["transfer-encoding": ["chunked"]]), .lengthRequired),
  ]

  @Test("Any other request is refused before its body is read", arguments: others)
  func noCall(request: HTTPRequest, kind: FleetLockError.Kind) {
    #expect {
      try FleetLockSite(HTTPAccess()).call(for: request)
    } throws: {
      ($0 as? FleetLockError)?.kind == kind
    }
  }

  @Test("A configured token is required")
  func token() throws {
    var access = HTTPAccess()
    access.token = try AccessToken(Array("correct-horse-battery".utf8))
    let site = FleetLockSite(access)
    for authorization in [[], ["Bearer correct-horse"], ["Bearer correct-horse-battery", "Bearer x"]] {
      #expect(throws: FleetLockError.self) {
        try site.call(for: Self.request("POST", "/v1/pre-reboot", ["authorization": authorization]))
      }
    }
    let right = ["authorization": ["Bearer correct-horse-battery"]]
    #expect(try site.call(for: Self.request("POST", "/v1/pre-reboot", right)) == .preReboot)
  }

  @Test(
    "A body names the client and its group",
    arguments: [
      ("c988d2509fdf4cdcbed39037c56406fb", "default"), ("node-1.example.org", "a.b-c"), ("::1", "1"),
      ("_", "A"), (String(repeating: "x", count: 128), "workers"),
    ])
  func body(id: String, group: String) throws {
    let text = "{\"x\": 1, \"client_params\": {\"group\": \"\(group)\", \"id\": \"\(id)\", \"x\": null}}"
    let request = try FleetLockRequest(Array(text.utf8))
    #expect(request.id == id && request.group == group)
  }

  @Test(
    "Any other body is refused",
    arguments: [
      "", "{", "[]", "null", "\"client_params\"", "{\"client_params\": null}", "{\"client_params\": []}",
      parameters("\"id\": \"a\""), parameters("\"group\": \"g\""), parameters("\"id\": 1, \"group\": \"g\""),
      parameters("\"id\": \"\", \"group\": \"g\""), parameters("\"id\": \"a\", \"group\": \"\""),
      parameters("\"id\": \"a b\", \"group\": \"g\""), parameters("\"id\": \"a\\u0000\", \"group\": \"g\""),
      parameters("\"id\": \"a\", \"group\": \"g.\""), parameters("\"id\": \"a\", \"group\": \"a..b\""),
      parameters("\"id\": \"a\", \"group\": \"a_b\""), parameters("\"id\": \"a\", \"group\": \"a/b\""),
      parameters("\"id\": \"a\", \"id\": \"a\", \"group\": \"g\""),
      parameters("\"id\": \"\(String(repeating: "x", count: 129))\", \"group\": \"g\""),
      parameters("\"id\": \"a\", \"group\": \"\(String(repeating: "x", count: 255))\""),
    ])
  func noBody(text: String) {
    #expect {
      try FleetLockRequest(Array(text.utf8))
    } throws: {
      ($0 as? FleetLockError)?.kind == .invalidBody
    }
  }

  private static func parameters(_ members: String) -> String { "{\"client_params\": {\(members)}}" }

  @Test(
    "An error is JSON with a kind and a value, and a status of failure",
    arguments: FleetLockError.Kind.allCases)
  func errors(kind: FleetLockError.Kind) {
    let response = FleetLockError(kind, "\"why\"\n").response
    #expect((400...599).contains(response.status))
    #expect(response.type == "application/json")
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == "{\"kind\":\"\(kind.rawValue)\",\"value\":\"\\\"why\\\"\\n\"}")
  }

  private static let conclusions: [(LeaseAttempt.Conclusion, FleetLockError.Kind?)] = [
    (.made(owner("fleetlock:a"), again: true), nil), (.busy(LeaseRecord()), .busy),
    (.refused("x"), .otherSlots), (.failed("x"), .failed), (.unknown("x"), .unknown),
    (.absent(LeaseRecord()), .failed),
  ]

  private static func owner(_ name: String) -> LeaseOwner {
    LeaseOwner(host: name, id: String(repeating: "1", count: 32), boot: "")
  }

  @Test("Only a change that JetStream confirmed succeeds", arguments: conclusions)
  func conclusion(conclusion: LeaseAttempt.Conclusion, kind: FleetLockError.Kind?) {
    #expect(FleetLockError(conclusion, "l")?.kind == kind)
  }

  @Test("The owners of a lease are named, whatever their record contains")
  func busy() {
    var record = LeaseRecord()
    record.owners = [Self.owner("fleetlock:a"), Self.owner("db1")]
    (record.owners[0].label, record.owners[1].since) = ("a reboot, through db2", Int.max)
    let message = FleetLockError(.busy(record), "l")?.message ?? ""
    #expect(message.hasPrefix("others have l: fleetlock:a since 19"))
    #expect(message.hasSuffix(", for a reboot, through db2; db1"))
  }

  @Test(
    "No host can have the name of a client",
    arguments: [
      ("fleetlock:a", true), ("fleetlock:a:b", true), ("fleetlock:", false), ("fleetlock:a b", false),
      ("fleetlock", false), ("x:a", false), ("", false),
      ("fleetlock:" + String(repeating: "x", count: 129), false),
    ])
  func names(name: String, isClient: Bool) {
    #expect(FleetLockClient.isOwner(name) == isClient)
    #expect(!isClient || !Subjects.isToken(name))
  }

  @Test("Neither a host nor another client releases a client's lease")
  func owners() throws {
    var record = LeaseRecord()
    _ = record.apply(.acquire(Self.owner("fleetlock:a"), slots: 1)) { _ in false }
    #expect(try LeaseRecord(record.bytes) == record)
    for other in ["a", "fleetlock:b"] {
      #expect(record.apply(.release(host: other, machine: "", id: nil)) { _ in false } == .absent)
      #expect(record.apply(.acquire(Self.owner(other), slots: 1)) { _ in false } == .busy)
    }
  }

  @Test("The question for a client may go to other hosts, unless another host asked it")
  func question() {
    let (here, there) = (Instance(), Instance())
    func isOwn(_ userInfo: UserInfo, pid: Int32) -> Bool {
      let asker = Asker(pid: pid, process: LoopRule.process)
      let question = Question("q", object: "a", userInfo: userInfo, asker: asker)
      let known = FleetLockQuestion.userInfoForOthers(question, here)
      // Others could make this host ask with the mark.
      #expect(known == nil || known == UserInfo(#"{"group":"g"}"#))
      return known != nil
    }
    let own = Int32(bitPattern: ThisProcess.id)
    #expect(isOwn(FleetLockQuestion.userInfo(group: "g", here), pid: own))
    #expect(!isOwn(FleetLockQuestion.userInfo(group: "g", here), pid: own + 1))
    #expect(!isOwn(FleetLockQuestion.userInfo(group: "g", there), pid: own))
    for other in ["", "x", "{}"] { #expect(!isOwn(UserInfo(other), pid: own)) }
  }
}
