// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneWire

@testable import Tribune
@testable import TribuneCommands

@Suite("Traffic in words", .timeLimit(.minutes(15)))
struct TrafficTextTests {
  private static func item<F: FrameFields>(
    _ fields: F, _ text: String = "", kind: UInt8? = nil
  ) throws -> TrafficItem {
    let frame = ByteBuffer(capacity: 64)
    frame.appendFrame(fields, serial: 1, text: text)
    if let kind { frame.store(kind, at: 4) }
    let traffic = ByteBuffer(capacity: 128)
    traffic.appendFrame(
      TribuneWire.Traffic(time: 5, from: .bus, to: ConnectionID(rawValue: 4), receivers: 1), serial: 0,
      payload: frame.bytes)
    let header = try #require(try FrameHeader(traffic.bytes, at: 0, limits: .fromBus))
    return try TrafficItem(FrameView(header, traffic.bytes))
  }

  @Test("frames that are neither posts nor queries are also described")
  func words() throws {
    let cases: [(any FrameFields, String, String)] = [
      (Refusal(.invalidName), "no\nname", "error  invalidName: no\\nname"),
      (Lost(count: 3), "", "lost  3 notifications"),
      (Okay(registration: 2, delegate: 9), "", "ok  registered as 2, delegate 9"),
      (
        Observe(options: .retained, suspension: .hold), "",
        "observe  with retained notifications, hold in suspension"
      ),
      (Post(options: .retain, style: .whenIdle), "", "post  when idle, retained"),
      (List(.holds), "", "list  holds"), (Cancel(target: 7), "", "cancel  serial 7"),
      (Suspend(isSuspended: true), "", "suspend  suspends"),
    ]
    for (fields, text, words) in cases {
      let item = try Self.item(fields, text)
      #expect(item.description == "bus → :4  \(words)")
    }
  }

  @Test("an unknown or malformed frame is shown as such, including in JSON")
  func unknown() throws {
    let unknown = try Self.item(Lost(count: 1), kind: 200)
    #expect(unknown.description == "bus → :4  200")
    #expect(
      unknown.json.compact
        == #"{"time":5,"from":null,"to":":4","receivers":1,"kind":"200","serial":1,"name":"","object":"","#
        + #""userInfo":null}"#)
    let short = try Self.item(Observe(), kind: FrameKind.ask.rawValue)
    #expect(short.description.hasPrefix("bus → :4  ask  malformed: "))
    #expect(short.json.compact.contains(#""says":"malformed: "#))
  }
}
