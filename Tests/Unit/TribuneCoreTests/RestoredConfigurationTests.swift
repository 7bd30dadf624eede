// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("The configuration of a restored bus", .timeLimit(.minutes(15)))
struct RestoredConfigurationTests {
  let bus: BusUnderTest

  init() throws {
    bus = BusUnderTest { $0.deadline = 700 }
    bus.bus.policy.queryRules = [
      .init(pattern: try Pattern("a.*"), required: [.unit("guard.service"), .label("ünit")]),
      .init(pattern: .any, required: [.label("x")], vetoesByDefault: true),
      .init(pattern: try Pattern("b.*"), holdMax: TimeSpan(microseconds: 4_000_000)),
    ]
    bus.configure(scrollView, ["view/*": "Tap", "view/1": "Scroll", "**": "Tap"])
  }

  private func fields() -> ByteBuffer { ByteBuffer { bus.bus.appendConfiguration(to: $0) } }

  @Test("is unchanged")
  func restored() throws {
    let other = BusUnderTest()
    try other.bus.restoreConfiguration(fields().bytes)
    #expect(other.bus.policy == bus.bus.policy)
    #expect(other.bus.limits == bus.bus.limits)
    let rules = other.bus.declarations.rules.map { "\($0.pattern) \($0.linked.text)" }
    #expect(rules == bus.bus.declarations.rules.map { "\($0.pattern) \($0.linked.text)" })
    #expect(rules.count == 3)
    let again = ByteBuffer { other.bus.appendConfiguration(to: $0) }
    #expect(again.count == fields().count)
    #expect(other.bus.protocolCount == 0)
    other.configure("", [:])
    #expect(try other.post("scroll.didTap", object: "view/7") == nil)
    #expect(try bus.post("scroll.didScroll", object: "view/7") == nil)
  }

  @Test("is refused as a whole if it is truncated")
  func truncated() {
    let fields = fields()
    let policy = ByteBuffer { bus.bus.policy.append(to: $0) }
    for length in 0..<policy.count + 8 {
      let other = BusUnderTest()
      #expect(throws: WireError.self) {
        try other.bus.restoreConfiguration(fields.bytes.extracting(first: length))
      }
      #expect(other.bus.policy == BusPolicy() && other.bus.limits == BusLimits())
      #expect(other.bus.declarations.rules.isEmpty)
    }
  }

  @Test("does not recheck a value that the earlier bus accepted")
  func acceptedValue() {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    for delegate in [one, other] {
      bus.attach(["**"], to: "view/7", by: delegate, serial: 1, conformingTo: ["Tap"])
    }
    bus.ask("scroll.zoomTarget", object: "view/7", by: asker, serial: 2, mode: .collect)
    bus.bus.restoring.isReplaying = true
    bus.answer(.value, "bad", delegate: 1, from: one)
    bus.bus.restoring.isReplaying = false
    bus.answer(.value, "bad", delegate: 2, from: other)
    let failed = "d2 failed (the value does not fit: scroll.zoomTarget takes nothing bad)"
    #expect(bus.lastVerdict?.summary == "allowed: d1 answered (bad), \(failed)")
  }
}
