// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

extension BusUnderTest {
  func refusedActions(_ name: String, _ slot: ConnectionSlot) throws -> Set<String> {
    var refusals: [Serial: WireError] = [:]
    onEffect = { if case .refusal(_, let serial, let error) = $0 { refusals[serial] = error } }
    defer { onEffect = nil }
    post(name, by: slot, serial: 10, .immediately, flags: .acknowledge)
    post(name, text: "{}", by: slot, serial: 11, .retain, flags: .acknowledge)
    observe(name, by: slot, serial: 12)
    ask(name, by: slot, serial: 13)
    attach([name], by: slot, serial: 14)
    // The bus refuses a hold on another name in any case.
    if NameSyntax.canMatchQuestion(name) { hold(name, by: slot, serial: 15) }
    ask(name, by: slot, serial: 16, flags: .overrides, because: "why")
    declare(defining: "protocol P\(slot.index) {}", by: slot, serial: 17)
    send(Monitor(), from: slot, serial: 18, name: name)
    if NameSyntax.canMatchQuestion(name) {
      send(Begin(query: QueryID(rawValue: 0), stage: .claiming), from: slot, serial: 19, name: name)
    }
    for error in refusals.values { #expect(error.code == .notPermitted, "\(error)") }
    let actions: [Serial: String] = [
      10: "post", 11: "retain", 12: "observe", 13: "ask", 14: "delegate", 15: "hold", 16: "override",
      17: "declare", 18: "monitor", 19: "claim",
    ]
    var refused = Set(refusals.keys.compactMap { actions[$0] })
    do throws(WireError) {
      let key = ByteBuffer(holding: Array(name.utf8))
      _ = try bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: slot)
    } catch {
      #expect(error.code == .notPermitted)
      refused.insert("plain post")
    }
    do throws(WireError) {
      _ = try explain(name, for: slot)
    } catch {
      #expect(error.code == .notPermitted)
      refused.insert("list")
    }
    return refused
  }

  func explainAccess(
    _ action: String, _ name: String, object: String = "", to subject: AccessSubject? = nil,
    for slot: ConnectionSlot
  ) throws(WireError) -> (decision: AccessDecision, line: String, lacks: [String]) {
    let question = AccessQuestion(action: action, subject: subject)
    let frame = ByteBuffer { $0.appendFrame(List(question), serial: 1, name: name, object: object) }
    guard let header = try FrameHeader(frame.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a test made a partial frame")
    }
    let entries = try bus.explainAccess(FrameView(header, frame.bytes), question, of: 0, for: slot)
    guard case .access(let entry)? = entries.first else { preconditionFailure("there is no decision") }
    let lacks = entries.compactMap { if case .nearMiss(let miss) = $0 { miss.lacks } else { nil } }
    return (entry.decision, entry.line.text, lacks)
  }
}
