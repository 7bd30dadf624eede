// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Delegation", .timeLimit(.minutes(15)))
struct DelegationTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("a delegate that answers and then shuts down its sending side still learns how the query ended")
  func answeringLast() throws {
    let asker = try RawClient.greeted(bus)
    for serial: Serial in 1...20 {
      let delegate = try RawClient.greeted(bus)
      try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
      try asker.send(Ask(), serial: serial, name: "a.shouldB")
      try delegate.answer(try delegate.nextQuestion().question, .approve)
      delegate.endSending()
      #expect(try delegate.nextConclusion() == .allowed)
      _ = try asker.nextVerdict()
    }
  }

  @Test("chains of thousands of delegates, and holds, leave nothing behind")
  func nothingStays() throws {
    func round() throws {
      let asker = try RawClient.greeted(bus)
      let owners = try (0..<3).map { _ in try RawClient.greeted(bus) }
      for owner in owners {
        for serial in 1...1000 {
          try owner.send(
            Attach(label: "\(serial)", patterns: ["a.shouldB"]), serial: Serial(serial), object: "o")
        }
        for serial in 2001...2100 {
          try owner.send(
            Hold(), serial: Serial(serial), name: "c.**", text: String(repeating: "?", count: 4096))
        }
        try owner.settle(serial: 9000)
      }
      try asker.send(Ask(mode: .all), serial: 1, name: "a.shouldB", object: "o")
      try asker.send(Ask(mode: .all), serial: 2, name: "c.shouldD", object: "o")
      _ = try owners[0].next(.question)
      #expect(try asker.next(.verdict).header.serial == 2)
      for serial in 1...1000 {
        try owners[1].send(Cancel(target: Serial(serial)), serial: Serial(3000 + serial))
      }
      try owners[1].settle(serial: 9001)
      try asker.send(Cancel(target: 1), serial: 3)
      #expect(try asker.nextError() == .cancelled)
    }
    func settled() throws -> BusEntry {
      let client = try RawClient.greeted(bus)
      try bus.wait(serving: client) { try client.busEntry().connections == 1 }
      return try client.busEntry()
    }
    for _ in 0..<4 { try round() }
    _ = try settled()
    let before = try bus.privateMemory()
    for _ in 0..<12 { try round() }
    let entry = try settled()
    #expect([entry.delegates, entry.holds, entry.queries, entry.observations] == [0, 0, 0, 0])
    // The bus has freed 36,000 delegates and 14 MiB of reasons. The allocator may keep 3 MiB, so a leak has to exceed
    // that.
    #expect(try bus.privateMemory() - before < 4096)
  }
}
