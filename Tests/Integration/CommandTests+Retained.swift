// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@Suite("tribunectl shows retained notifications", .timeLimit(.minutes(15)))
struct RetainedCommandTests {
  private let folder: TestFolder
  private let bus: TestBus

  init() throws {
    folder = try TestFolder()
    try folder.write(
      """
      allow * ** user:root
      allow list seen.** half.** user:*
      allow observe seen.** user:*

      """, to: "etc/policy.d/10.policy")
    bus = try TestBus(folder: folder)
  }

  private func retain(_ name: String, _ json: String, object: String = "") throws {
    try bus.tribunectl("post", name, json, "--retain", "--object=\(object)").expect(0)
  }

  @Test("get prints the userInfo unchanged, for that object or for none")
  func get() throws {
    try retain("a.b", "{ \"x\":\n\"\u{9B}\" }")
    try retain("a.b", "2", object: "o/2")
    try bus.tribunectl("get", "a.b").expect(0, output: "{ \"x\":\n\"\u{9B}\" }\n", errors: "")
    try bus.tribunectl("get", "a.b", "o/2").expect(0, output: "2\n")
    try bus.tribunectl("get", "a.b", "--object=o/2").expect(0, output: "2\n")
    let json = try bus.tribunectl("get", "-j", "a.b", "o/2").object()
    #expect(json["object"] as? String == "o/2" && json["userInfo"] as? Int == 2)
    #expect(json["age"] as? Double ?? 100 < 100)
    let screen = try bus.terminal("get", "a.b").rest()
    #expect(screen == "{\"x\":\"\\u009b\"}\r\n")
  }

  @Test("get prints its fields in a format")
  func format() throws {
    try retain("a.b", #"{"level": {"percent": 40}}"#, object: "o/2")
    try bus.tribunectl("get", "a.b", "o/2", "--format={object} {userInfo.level.percent}{userInfo.none}")
      .expect(0, output: "o/2 40\n")
  }

  @Test(
    "get exits with 1 if nothing is retained, and counts the objects that have something",
    arguments: [
      (["a.c"], "nothing is retained under a.c"), (["a.b", "o/3"], "nothing is retained under a.b o/3"),
      (["a.b"], "nothing is retained under a.b, but for 2 objects: list --retained shows which"),
    ])
  func absent(operands: [String], message: String) throws {
    for object in ["o/1", "o/2"] { try retain("a.b", "1", object: object) }
    try bus.tribunectl("post", "a.c", "1").expect(0)
    let get = try TestBus.tribunectl(["get"] + operands, address: bus.address)
    get.expect(1, output: "", errors: "tribunectl: \(message)\n")
    try TestBus.tribunectl(["get", "-q"] + operands, address: bus.address).expect(1, output: "", errors: "")
  }

  @Test("observe gets more retained notifications than wait in a process or a queue")
  func many() throws {
    let count = 6_000
    let poster = try RawClient.greeted(bus)
    for number in 1...count {
      try poster.send(Post(options: .retain), serial: 0, name: "t.x", object: "o/\(number)", text: "1")
    }
    try poster.settle()
    let observer = try bus.tribunectl("observe", "t.**", "--retained", "-N\(count)", "--format={object}")
    observer.expect(0, output: (1...count).map { "o/\($0)\n" }.joined())
  }

  @Test("get takes no pattern, and exits with 255 without a bus")
  func wrong() throws {
    let pattern = try bus.tribunectl("get", "a.*")
    #expect(pattern.status == 2 && pattern.errors.contains("list --retained"))
    try bus.tribunectl("get", "a", "--address=unix:/nonexistent").expect(255)
  }

  @Test("list --retained shows the userInfo that the user may observe")
  func list() throws {
    try retain("half.a", "1")
    try retain("hidden.a", "2")
    try retain("seen.a", "{\"x\": 3}", object: "o")
    let other = try OtherUser(65_534, on: bus.address, in: folder)
    let lines = try other.tribunectl("list", "--retained", "--json=short").lines
    let values = try lines.map { try jsonObject($0) }
    #expect(values.map { $0["name"] as? String } == ["half.a", "seen.a"])
    #expect(values.first?["userInfo"] is NSNull)
    #expect(values.last?["userInfo"] as? [String: Int] == ["x": 3])
    let table = try bus.tribunectl("list", "--retained").output
    #expect(table.contains("  USERINFO\n") && table.contains("  {\"x\": 3}\n"))
    #expect(try other.tribunectl("get", "half.a").status == 255)
    #expect(try other.tribunectl("get", "seen.a", "o").output == "{\"x\": 3}\n")
  }
}
