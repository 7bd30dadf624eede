// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneWire

@testable import Tribune
@testable import TribuneCommands

/// The output of `tribunectl monitor`.
@Suite("Traffic in words", .timeLimit(.minutes(15)))
struct TrafficTextTests {
  private static func item(_ fill: (ByteBuffer) -> Void) throws -> TrafficItem {
    let frame = ByteBuffer(capacity: 64)
    fill(frame)
    let traffic = ByteBuffer(capacity: 128)
    traffic.appendFrame(
      TribuneWire.Traffic(time: 5, from: .bus, to: ConnectionID(rawValue: 4), receivers: 1), serial: 0,
      payload: frame.bytes)
    let header = try #require(try FrameHeader(traffic.bytes, at: 0, limits: .fromBus))
    return try TrafficItem(FrameView(header, traffic.bytes))
  }

  @Test("frames that are neither posts nor queries are described, too")
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
      let item = try Self.item { buffer in Self.append(fields, text, to: buffer) }
      #expect(item.description == "bus → :4  \(words)")
    }
  }

  private static func append<F: FrameFields>(_ fields: F, _ text: String, to buffer: ByteBuffer) {
    buffer.appendFrame(fields, serial: 1, text: text)
  }

  @Test("an unknown or malformed frame is shown as such, also in JSON")
  func unknown() throws {
    let unknown = try Self.item { buffer in
      buffer.appendFrame(Lost(count: 1), serial: 1)
      buffer.store(UInt8(200), at: 4)
    }
    #expect(unknown.description == "bus → :4  200")
    #expect(
      unknown.json.compact
        == #"{"time":5,"from":null,"to":":4","receivers":1,"kind":"200","serial":1,"name":"","object":"","#
        + #""userInfo":null}"#)
    let short = try Self.item { buffer in
      buffer.appendFrame(Observe(), serial: 1)
      buffer.store(FrameKind.ask.rawValue, at: 4)
    }
    #expect(short.description.hasPrefix("bus → :4  ask  malformed: "))
    #expect(short.json.compact.contains(#""says":"malformed: "#))
  }
}
