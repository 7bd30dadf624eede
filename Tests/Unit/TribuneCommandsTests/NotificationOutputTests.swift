// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneSystem

@testable import Tribune
@testable import TribuneCommands

@Suite("Output about notifications", .timeLimit(.minutes(15)))
struct NotificationOutputTests {
  private static let reply = AwaitedReply(
    acknowledged: 2,
    missing: [
      .init(
        connection: ":7", pid: 42, uid: 1000, process: "flush.sh", units: Units(system: "backup.service"),
        kind: .failed,
        reason: "exited\nwith 1", elapsed: .milliseconds(3)),
      .init(
        connection: ":9", pid: 43, uid: 0, process: "", units: Units(), kind: .timedOut, reason: "",
        elapsed: .seconds(5)),
    ])

  @Test("observers without an acknowledgement have an escaped line each, after their number")
  func missing() {
    #expect(
      Self.reply.missingLines(of: "volume.willUnmount", object: "volume/\u{1B}") == [
        "2 of 4 did not acknowledge volume.willUnmount volume/\\u{1b}:",
        "  failed    flush.sh (:7, pid 42, uid 1000, backup.service): exited\\nwith 1  [3ms]",
        "  timedOut  connection (:9, pid 43, uid 0)  [5s]",
      ])
    #expect(Self.reply.missingLines(of: "a", object: "").first == "2 of 4 did not acknowledge a:")
  }

  @Test("only the first hundred observers are printed, with the beginnings of their reasons")
  func manyMissing() {
    let one = AwaitedReply.Missing(
      connection: ":7", pid: 42, uid: 1000, process: "a", units: Units(), kind: .failed,
      reason: String(repeating: "x", count: 4_000), elapsed: .seconds(5))
    let lines = AwaitedReply(acknowledged: 0, missing: Array(repeating: one, count: 5_000)).missingLines(
      of: "a", object: "")
    #expect(lines.count == 102 && lines[0].hasPrefix("5000 of 5000"))
    #expect(lines.last == "  … and 4900 more")
    #expect(lines.joined().utf8.count < 40_000 && lines[1].contains("x…  ["))
  }

  @Test("nothing is printed if all acknowledged, or no observer was awaited", arguments: [0, 3])
  func nobodyMissing(acknowledged: Int) {
    let reply = AwaitedReply(acknowledged: acknowledged)
    #expect(reply.missingLines(of: "a", object: "") == [])
    #expect(reply.json.compact == #"{"acknowledged":\#(acknowledged),"missing":[]}"#)
  }

  @Test("in JSON, the reply is one object with each missing observer")
  func missingJSON() {
    #expect(
      Self.reply.json.compact
        == #"{"acknowledged":2,"missing":[{"connection":":7","pid":42,"uid":1000,"process":"flush.sh","#
        + #""unit":"backup.service","systemUnit":"backup.service","userUnit":"","failure":"failed","reason":"exited\nwith 1","elapsed":0.003000},"#
        + #"{"connection":":9","pid":43,"uid":0,"process":"","unit":"","systemUnit":"","userUnit":"","failure":"timedOut","reason":"","#
        + #""elapsed":5}]}"#)
  }

  @Test("userInfo is JSON in JSON, or base64 if it is not JSON")
  func userInfo() {
    let cases: [(UserInfo, String)] = [
      ("{ \"x\": 1 }", #""userInfo":{"x":1}"#), (.none, #""userInfo":null"#),
      ("plain", #""userInfoBase64":"cGxhaW4=""#), (UserInfo([0xFF, 0x00]), #""userInfoBase64":"/wA=""#),
      ("[1e999]", #""userInfoBase64":"WzFlOTk5XQ==""#),
      ("99999999999999999999", #""userInfo":99999999999999999999"#),
    ]
    for (userInfo, member) in cases {
      let json = Notification("a.b", object: "o", sender: ":1", userInfo: userInfo).json().compact
      #expect(json == "{\"name\":\"a.b\",\"object\":\"o\",\"sender\":\":1\",\"poster\":null,\(member)}")
    }
  }

  @Test("in JSON, a delivered notification has the time of its arrival")
  func time() {
    let json = Delivery.notification(Notification("a", sender: ":1")).json(at: 1_767_323_045_000_001)
    #expect(json.compact.contains(#","time":1767323045000001,"#))
    #expect(Delivery.lost(2).json(at: 1).compact == #"{"lost":2}"#)
  }

  @Test("each notification has its own line of JSON, also among others of its poster")
  func lines() {
    let poster = Poster(pid: 7, uid: 0, process: "p")
    let first = Notification("a", object: "\u{E9}", sender: ":1", poster: poster, userInfo: "1")
    var second = first
    second.userInfo = "{}"
    let all = [
      first, first, second, first, Notification("b", object: "e\u{301}", sender: nil, userInfo: "1"),
      Notification("a", object: "\u{E9}", sender: ":1", poster: poster, userInfo: "1", isRetained: true),
    ]
    var (lines, bytes) = (NotificationLines(), [UInt8]())
    for (time, notification) in all.enumerated() {
      lines.append(notification, at: UInt64(time), to: &bytes)
    }
    let expected = all.enumerated().map { $1.json(at: UInt64($0)).compact + "\n" }.joined()
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  @Test("only a retained notification is marked as retained")
  func retained() throws {
    let fresh = Notification("a", object: "o", sender: ":1", userInfo: "1")
    let kept = Notification("a", object: "o", sender: ":1", userInfo: "1", isRetained: true)
    let json = #"{"name":"a","object":"o","sender":":1","poster":null,"userInfo":1"#
    #expect(fresh.json().compact == json + "}")
    #expect(kept.json().compact == json + #","retained":true}"#)
    let context = try makeContext()
    #expect(fresh.line(in: context).hasSuffix("  a  o  1"))
    #expect(kept.line(in: context).hasSuffix("  a  o  1  (retained)"))
  }

  private static let poster = Poster(
    pid: 4242, uid: 34, process: "restore\u{1B}",
    units: Units(system: "user@34.service", user: "restore.service"))

  @Test(
    "text shows the poster's known name and pid",
    arguments: [
      (poster, ":1 restore\\u{1b}[4242]"), (Poster(pid: 7), ":1 [7]"), (Poster(uid: 34), ":1"), (nil, ":1"),
    ] as [(Poster?, String)])
  func posterLine(_ poster: Poster?, source: String) throws {
    let line = Notification("a", object: "o", sender: ":1", poster: poster, userInfo: "1")
      .line(in: try makeContext())
    #expect(line.hasSuffix("  \(source)  a  o  1"), "\(line)")
  }

  @Test("in JSON, the poster is an object; null and empty texts are unknown")
  func posterJSON() {
    func member(_ poster: Poster) -> String { poster.json.compact }
    #expect(
      member(Self.poster)
        == #"{"pid":4242,"uid":34,"process":"restore\u001b","unit":"user@34.service","#
        + #""systemUnit":"user@34.service","userUnit":"restore.service"}"#)
    #expect(
      member(Poster(uid: 34, units: Units(user: "restore.service")))
        == #"{"pid":null,"uid":34,"process":"","unit":"restore.service","#
        + #""systemUnit":"","userUnit":"restore.service"}"#)
    #expect(
      member(Poster(uid: 34))
        == #"{"pid":null,"uid":34,"process":"","unit":"","systemUnit":"","userUnit":""}"#)
  }

  @Test(
    "a format is filled in, and what peers chose is escaped",
    arguments: [
      ("{name} {object}: {userInfo}", "a.b o: {\"x\":{\"y\":\"1\\u001b\"},\"n\":[1,2.5],\"z\":null}"),
      ("{userInfo.x.y}|{userInfo.x}", "1\\u{1b}|{\"y\":\"1\\u001b\"}"),
      ("{userInfo.n} {userInfo.z} {userInfo.none}{userInfo.n.x}.", "[1,2.5] null ."),
      ("{sender} {pid} {uid} {process}", ":1 4242 34 restore\\u{1b}"),
      ("{unit} {systemUnit} {userUnit}", "user@34.service user@34.service restore.service"),
      ("{{{name}}} }}{{", "{a.b} }{"), ("\t\u{9B}", "\t\u{9B}"), ("", ""),
    ])
  func format(text: String, expected: String) throws {
    let userInfo: UserInfo = #"{"x":{"y":"1\u001b"},"n":[1,2.5],"z":null}"#
    let notification = Notification("a.b", object: "o", sender: ":1", poster: Self.poster, userInfo: userInfo)
    #expect(try NotificationFormat(text).line(of: notification, at: 0) == expected)
  }

  @Test("a format has the time of day, and nothing for unknown values or invalid JSON")
  func sparseFormat() throws {
    let microseconds: UInt64 = 1_767_323_045_678_000
    let format = try NotificationFormat("{time}|{userInfo.x}|{pid}{uid}{process}{unit}|{sender}")
    for userInfo in ["", "no JSON", "[1]", "\"x\""] {
      let line = format.line(of: Notification("a", userInfo: UserInfo(userInfo)), at: microseconds)
      #expect(line == "\(timeOfDay(microsecondsSince1970: microseconds))|||bus")
    }
  }

  @Test(
    "a format with a wrong placeholder or a single brace is refused",
    arguments: [
      ("{nam}", "{nam} (did you mean {name}?); there are {time}, {name}"), ("{}", "{} lacks a name"),
      ("{object.x}", "unknown placeholder {object.x}"), ("{userInfo..x}", "lacks a name"),
      ("{userInfo.}", "lacks a name"),
      ("{\u{1B}}", "{\\u{1b}}"), ("{name", "write a brace as {{ or }}"), ("name}", "write a brace as"),
    ])
  func wrongFormat(text: String, message: String) {
    let error = #expect(throws: CommandError.self) { _ = try NotificationFormat(text) }
    #expect(error?.status == 2)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test("a command's environment has the notification, earlier losses, and whether it was retained")
  func environment() {
    func variables(_ notification: Notification, _ lost: Int, isInterrupted: Bool = false) -> [String] {
      NotificationHandler.variables(of: notification, behind: lost, isInterrupted: isInterrupted)
        .map { "\($0.name)=\($0.value ?? "nil")" }
    }
    #expect(
      variables(
        Notification("a.b", object: "o", sender: ":3", poster: Self.poster, isRetained: true), 2,
        isInterrupted: true) == [
          "TRIBUNE_NAME=a.b", "TRIBUNE_OBJECT=o", "TRIBUNE_SENDER=:3", "TRIBUNE_SENDER_PID=4242",
          "TRIBUNE_SENDER_UID=34", "TRIBUNE_SENDER_PROCESS=restore\u{1B}",
          "TRIBUNE_SENDER_UNIT=user@34.service",
          "TRIBUNE_SENDER_SYSTEM_UNIT=user@34.service", "TRIBUNE_SENDER_USER_UNIT=restore.service",
          "TRIBUNE_LOST=2",
          "TRIBUNE_INTERRUPTED=1", "TRIBUNE_RETAINED=1",
        ])
    #expect(
      variables(Notification("tribune.x"), 0) == [
        "TRIBUNE_NAME=tribune.x", "TRIBUNE_OBJECT=", "TRIBUNE_SENDER=", "TRIBUNE_SENDER_PID=",
        "TRIBUNE_SENDER_UID=", "TRIBUNE_SENDER_PROCESS=", "TRIBUNE_SENDER_UNIT=",
        "TRIBUNE_SENDER_SYSTEM_UNIT=", "TRIBUNE_SENDER_USER_UNIT=", "TRIBUNE_LOST=0",
        "TRIBUNE_INTERRUPTED=nil", "TRIBUNE_RETAINED=nil",
      ])
  }

  @Test(
    "a command that cannot be started ends the observer as a shell would",
    arguments: [("/nonexistent", Int32(127)), ("/etc/passwd", 126), ("/", 126)])
  func cannotStart(path: String, status: Int32) async throws {
    let handler = NotificationHandler(running: [Array(path.utf8)], in: try makeContext())
    let error = await #expect(throws: CommandError.self) {
      _ = try await handler.handle(.notification(Notification("a")))
    }
    #expect(error?.status == status)
    #expect(error?.message.hasPrefix("\(path) cannot be run: ") == true)
  }

  @Test("an ending observer starts no command, and reports nothing")
  func ending() async throws {
    let handler = NotificationHandler(running: [Array("false".utf8)], in: try makeContext())
    #expect(try await handler.handle(.notification(Notification("a"))))
    await handler.end()
    await #expect(throws: CommandError.ended(0)) {
      try await handler.handle(.notification(Notification("a")))
    }
  }
}
