// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("Corrupt fields", .timeLimit(.minutes(15)))
struct SpoiltFieldsTests {
  enum Part: CaseIterable, Sendable {
    case parallel, order, collect, overridden, action, awaited, retained, retainedFile, held
  }

  private static let file = MadeFile(length: 70_000)
  private let asker = ConnectionSlot(index: 0)
  private let one = ConnectionSlot(index: 1)
  private let two = ConnectionSlot(index: 2)

  private func base() -> BusUnderTest {
    let bus = BusUnderTest()
    for _ in 0..<3 { bus.connect() }
    bus.attach(["shouldA", "p.q"], by: one, serial: 1, policy: .abstain, timeout: 900)
    bus.attach(["shouldA", "p.q"], by: two, serial: 1, timeout: 900)
    // Delegates attached earlier stay, conforming or not.
    bus.declare(
      "o", as: "P", defining: "protocol P { optional value p.q () -> (v: int) }", by: asker, serial: 90)
    bus.observe("n", by: one, serial: 2, .awaited)
    bus.observe("n", by: two, serial: 2, .awaited)
    bus.observe("h", by: two, serial: 3, suspension: .hold)
    bus.observe("h.c", by: two, serial: 4)
    bus.send(Monitor(), from: one, serial: 5)
    bus.suspend(by: two)
    _ = bus.take()
    return bus
  }

  private func fields(_ part: Part) throws -> (fields: [UInt8], files: [any AttachedFile]) {
    let bus = base()
    let buffer = ByteBuffer(capacity: 0)
    var files: [any AttachedFile] = []
    switch part {
    case .parallel:
      bus.ask("shouldA", by: asker, serial: 7, flags: .wantsProgress)
      bus.answer(.approve, "fine", delegate: 1, from: one)
    case .order: bus.ask("shouldA", by: asker, serial: 7, mode: .order, text: "u")
    case .collect:
      bus.ask("p.q", object: "o", by: asker, serial: 7, mode: .collect)
      bus.answer(.value, "42", delegate: 2, from: two)
    case .overridden:
      bus.hold("**", by: two, serial: 8)
      bus.ask("shouldA", by: asker, serial: 7, mode: .all, flags: .overrides, because: "must")
    case .action: bus.ask("a.shouldB", object: "o2", by: asker, serial: 7, flags: .begins)
    case .awaited:
      bus.post("n", text: "x", by: asker, serial: 7, .awaited)
      bus.done(7, of: 1, by: two, failed: "no")
    case .retained, .retainedFile:
      let file = part == .retainedFile ? Self.file : nil
      let frame = ByteBuffer(capacity: 0, attachment: file)
      frame.appendFrame(
        Post(options: .retain, length: UInt32(file?.length ?? 0)), serial: 7, name: "r.s", object: "o2",
        text: file == nil ? "x" : "")
      bus.send(frame, from: asker)
      for kept in bus.bus.allRetained() { kept.append(to: buffer) }
      if let file { files = [file] }
    case .held:
      try bus.plain("h", "x", "y")
      try bus.plain("h.c", "z")
      let frame = ByteBuffer(capacity: 0, attachment: Self.file)
      frame.appendFrame(Post(options: .immediately, length: UInt32(Self.file.length)), serial: 7, name: "h")
      var run = RunToBuffer(ByteSlice(frame, 0..<frame.count), count: 1)
      let key = ByteBuffer(holding: [UInt8(ascii: "h")])
      for receiver in try bus.bus.receivers(of: key.bytes, nameLength: 1, from: nil).receivers {
        _ = bus.bus.admit(receiver, &run)
      }
      files = bus.bus.appendBuffered(of: two, to: buffer)
    }
    bus.appendUnderWay(to: buffer)
    #expect(buffer.count > 0)
    return (buffer.array, files)
  }

  private func restore(_ part: Part, _ bytes: [UInt8], _ files: [any AttachedFile], in bus: BusUnderTest)
    -> ErrorCode?
  {
    let now = bus.now
    return refusal { () throws(WireError) in
      switch part {
      case .parallel, .order, .collect, .overridden: try bus.bus.restoreQuery(bytes.raw, at: now)
      case .action: try bus.bus.restoreAction(bytes.raw)
      case .awaited: try bus.bus.restoreAwaitedPost(bytes.raw, at: now)
      case .retained, .retainedFile: try bus.bus.restoreRetained(bytes.raw, attachment: files.first)
      case .held: try bus.bus.restoreBuffered(bytes.raw, attachments: files, for: two)
      }
    }
  }

  private func state(of bus: BusUnderTest) -> [Int] {
    [
      bus.queryCount + bus.bus.actionCount, bus.bus.awaitedPosts.count, bus.bus.retained.count,
      bus.bus.suspensions.byteCount,
      Int(bus.bufferedCount(of: two)),
    ]
  }

  @Test("Intact fields are restored, and written again as they were", arguments: Part.allCases)
  func whole(part: Part) throws {
    let (bytes, files) = try fields(part)
    let bus = base()
    #expect(restore(part, bytes, files, in: bus) == nil)
    let again = ByteBuffer(capacity: 0)
    switch part {
    case .parallel, .order, .collect, .overridden, .action, .awaited: bus.appendUnderWay(to: again)
    case .retained, .retainedFile: for kept in bus.bus.allRetained() { kept.append(to: again) }
    case .held: _ = bus.bus.appendBuffered(of: two, to: again)
    }
    #expect(again.array == bytes)
    runOut(bus)
  }

  @Test(
    "Corrupt fields are refused and change nothing, or are restored as they are, and never stop the bus",
    arguments: Part.allCases)
  func spoilt(part: Part) throws {
    let (bytes, files) = try fields(part)
    var bus = base()
    let before = state(of: bus)
    var refusedCount = 0
    for offset in bytes.indices {
      var variants = [Array(bytes[..<offset])]
      for mask: UInt8 in [0x01, 0xFF] {
        var spoilt = bytes
        spoilt[offset] ^= mask
        variants.append(spoilt)
      }
      for variant in variants {
        if restore(part, variant, files, in: bus) != nil {
          refusedCount += 1
          try #require(state(of: bus) == before, "\(offset)")
        } else {
          runOut(bus)
          bus = base()
        }
      }
    }
    #expect(refusedCount >= bytes.count)
  }

  private func runOut(_ bus: BusUnderTest) {
    bus.bus.finishRestoring(at: bus.now)
    bus.takeEffects()
    for query in [1, bus.bus.counters.lastQuery] {
      bus.answer(.veto, "so", query: query, delegate: 1, from: one, serial: 950)
      bus.answer(.veto, "so", query: query, delegate: 2, from: two, serial: 950)
    }
    bus.done(7, of: 1, by: one)
    bus.suspend(false, by: two)
    bus.observe("**", by: asker, serial: 951, .retained)
    bus.ask("shouldA", by: asker, serial: 952)
    for _ in 0..<20 where !bus.advanceToNextDeadline() { break }
    for slot in [asker, one, two] { bus.disconnect(slot) }
    #expect(state(of: bus)[0...1] == [0, 0])
    #expect(state(of: bus)[3...4] == [0, 0])
  }
}
