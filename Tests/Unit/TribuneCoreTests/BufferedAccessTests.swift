// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneWire

@Suite("Buffers under a policy that changes", .timeLimit(.minutes(15)))
struct BufferedAccessTests {
  private let bus = BusUnderTest()
  private let ann: ConnectionSlot

  init() throws {
    ann = bus.connect(uid: 1001)
    bus.observe("a.*", by: ann, serial: 1, suspension: .hold)
    bus.observe("b", by: ann, serial: 2)
    bus.suspend(by: ann)
    try post()
    _ = bus.take()
  }

  private func post() throws {
    try bus.plain("a.open", "1", "2")
    try bus.plain("a.secret", "3", "4")
    try bus.plain("a.open", object: "o", "5")
    try bus.plain("b", "6", "7")
  }

  private func apply(_ lines: [String]) {
    let rules = AccessRules.policy(Policy(text: lines), exempt: [])
    bus.happen { $0.apply(rules, at: bus.now) }
    _ = bus.take()
  }

  private static let cases: [([String], [String])] = [
    (["allow observe ** user:*"], ["a.open 1 + a.open 2", "a.secret 3 + a.secret 4", "a.open o 5", "b 7"]),
    (
      ["allow observe ** user:*", "deny observe a.secret user:ann"],
      ["a.open 1 + a.open 2", "a.open o 5", "b 7"]
    ),
    (
      ["allow observe ** user:*", "deny observe *.open object:o user:ann"],
      ["a.open 1 + a.open 2", "a.secret 3 + a.secret 4", "b 7"]
    ),
    // Buffered notifications may still be observed.
    (["allow observe a.secret user:ann"], ["a.secret 3 + a.secret 4"]),
    (["allow observe ** object:o user:ann"], ["a.open o 5"]),
    (["allow observe b user:ann"], ["b 7"]),
    (["allow * ** user:*", "deny observe ** user:ann"], []),
    (["allow observe ** user:bob"], []), ([], []),
  ]

  private func expectDelivered(_ delivered: [String]) {
    let count = delivered.joined(separator: "+").split(separator: "+").count
    #expect(bus.bufferedCount(of: ann) == (delivered.isEmpty ? 0 : UInt64(count)))
    #expect(bus.bus.suspendedByteCount == bus.bus.bufferedByteCount(at: ann))
    bus.suspend(false, by: ann)
    let held = delivered.isEmpty ? [] : ["A held, \(delivered.joined(separator: ", "))"]
    #expect(bus.take() == held + ["A ok 903"])
    #expect(bus.bus.suspendedByteCount == 0)
  }

  @Test(
    "At a reload, a suspended connection loses exactly the notifications that it may no longer observe",
    arguments: cases)
  func reloaded(_ lines: [String], _ delivered: [String]) {
    apply(lines)
    expectDelivered(delivered)
  }

  @Test("A buffer from another bus is filtered in the same way", arguments: cases)
  func restored(_ lines: [String], _ delivered: [String]) throws {
    let fields = ByteBuffer(capacity: 0)
    _ = bus.bus.appendBuffered(of: ann, to: fields)
    bus.suspend(false, by: ann)
    bus.suspend(by: ann)
    apply(lines)
    try bus.bus.restoreBuffered(fields.bytes, attachments: [], for: ann)
    expectDelivered(delivered)
  }

  @Test("The log learns that a buffer became smaller")
  func counted() {
    while bus.bus.popBuffered() != nil {}
    apply(["allow observe ** user:*"])
    #expect(bus.bus.popBuffered() == nil)
    apply(["allow observe b user:*"])
    #expect(bus.bus.popBuffered() == ann)
    #expect(bus.bus.popBuffered() == nil)
  }

  @Test("Earlier losses for lack of space are still reported")
  func lost() throws {
    bus.bus.limits.bufferMax = 1
    try bus.plain("b", "8")
    _ = bus.take()
    apply([])
    bus.suspend(false, by: ann)
    bus.expect("A held lost 6", "A ok 903")
  }

  @Test("A later notification does not replace a dropped one, and counts once")
  func coalesced() throws {
    bus.observe("c.*", by: ann, serial: 3)
    try bus.plain("c.x", "1")
    try bus.plain("c.y", "2")
    apply(["allow observe ** user:*", "deny observe c.x user:ann"])
    apply(["allow observe ** user:*"])
    try bus.plain("c.x", "3", "4")
    try bus.plain("c.x", "5")
    _ = bus.take()
    expectDelivered(["a.open 1 + a.open 2", "a.secret 3 + a.secret 4", "a.open o 5", "b 7", "c.y 2", "c.x 5"])
  }
}
