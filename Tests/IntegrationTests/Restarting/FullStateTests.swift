// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What there is no room for is refused or not remembered; that is said, and keeps nobody from the bus.
@Suite("A full state", .timeLimit(.minutes(3)))
struct FullStateTests {
  private let bus: RestartedBus
  private let client: RawClient

  init() throws {
    bus = try RestartedBus(configuration: StateFilling.configuration)
    client = try RawClient.greeted(bus)
    try client.observe("load.*", serial: 1)
  }

  private static let isFull = "the state has no room for more"
  private static let hasRoom = "the state has room again"

  private func count(_ text: String) throws -> Int { try bus.log().split(separator: text).count - 1 }

  @Test("is said once, however much is given back and taken again in it")
  func churn() throws {
    let churner = try RawClient.greeted(bus)
    let name = "churn." + String(repeating: "x", count: 240)
    for serial in 1...200 as ClosedRange<Serial> { try churner.observe(name, serial: serial) }
    try StateFilling(bus).fill(downTo: 256)
    for serial in 1...4000 as ClosedRange<Serial> {
      try churner.send(Cancel(target: serial), serial: 0)
      try churner.send(Observe(), serial: serial + 200, name: name)
      _ = try churner.next(.ok)
      _ = try churner.next(.ok)
    }
    #expect(try count(Self.isFull) == 1)
    // What was there before survives, and so does who has it.
    try bus.crash()
    try StateFilling(bus).empty()
    try client.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    #expect(try client.next().name == "load.unit")
  }

  @Test("is not what the clients of one user make it: what they may register is remembered")
  func share() throws {
    let name = "share.n%." + String(repeating: "x", count: 240)
    // Beyond a quarter of 1 MiB.
    let most = (256 << 10) / (64 + 32 + name.utf8.count)
    var serial = 2 as Serial
    while true {
      let number = "\(1000 + serial)"
      try client.send(Observe(), serial: serial, name: name.replacing("%", with: number))
      let frame = try client.next()
      guard frame.kind == .error else {
        serial += 1
        continue
      }
      #expect(try frame.decode(Refusal.self).code == .limitExceeded)
      #expect(frame.payload.contains("what the bus remembers for user"))
      break
    }
    #expect(serial > most - 20 && serial < most + 20)
    let other = try RawClient.greeted(bus)
    try other.send(Observe(), serial: 1, name: name.replacing("%", with: "9999"))
    #expect(try other.nextError() == .limitExceeded)
    #expect(try count(Self.isFull) == 0)
    try bus.crash()
    try other.send(Post(), serial: 2, name: name.replacing("%", with: "\(1000 + serial - 1)"))
    #expect(try client.next().header.serial == 2)
    try client.send(Cancel(target: 2), serial: 0)
    _ = try client.next(.ok)
    try other.observe(name.replacing("%", with: "9999"), serial: 1)
  }

  @Test("is not what replies that nobody reads make it")
  func unread() throws {
    let poster = try RawClient.greeted(bus)
    for number in 0..<10 {
      try poster.send(
        Post(options: .retain), serial: 1, flags: .acknowledge, name: "half.state", object: "\(number)",
        text: String(repeating: "x", count: 60_000))
      _ = try poster.next(.ok)
    }
    try client.send(
      Hold(), serial: 2, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    _ = try client.next(.ok)
    let deaf = try RawClient.greeted(bus)
    for serial in 1...200 as ClosedRange<Serial> { try deaf.send(Ask(), serial: serial, name: "a.shouldB") }
    let other = try RawClient.greeted(bus)
    try other.observe("other.*", serial: 1)
    try other.expectSilence(serial: 2)
    #expect(try count(Self.isFull) == 0)
    for serial in 1...200 as ClosedRange<Serial> { #expect(try deaf.next(.verdict).header.serial == serial) }
  }

  @Test("is found to have room when there is some, and takes down what comes then")
  func roomAgain() throws {
    for round in 1...2 {
      let filling = try StateFilling(bus)
      try filling.fill(downTo: 256)
      #expect(try count(Self.isFull) == round)
      try filling.empty()
      // It looks for room at most once a second, when something has none.
      var serial = 2 as Serial
      while try count(Self.hasRoom) < round {
        try client.observe("round.n\(round)", serial: serial)
        try client.send(Cancel(target: serial), serial: 0)
        _ = try client.next(.ok)
        serial += 1
      }
    }
    let late = try RawClient.greeted(bus)
    try late.observe("late.*", serial: 1)
    try bus.crash()
    try late.send(Post(), serial: 2, name: "late.unit")
    #expect(try late.next().name == "late.unit")
  }
}
