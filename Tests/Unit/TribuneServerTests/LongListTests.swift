// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("Long lists")
struct LongListTests {
  private let clock = SteppingClock()
  private let bus: SteppedBus
  private let observers: [SteppedBus.Client]

  init() throws {
    bus = try SteppedBus(clock)
    var observers: [SteppedBus.Client] = []
    for _ in 0..<5 {
      let client = try bus.client()
      for serial in 1...3 as ClosedRange<Serial> {
        try client.send(Observe(), serial: serial, name: "a.n\(serial)")
        try bus.pass(client)
      }
      _ = try client.frames()
      observers.append(client)
    }
    self.observers = observers
  }

  @Test(
    "are complete, and other clients are served before their ends",
    arguments: [(.observations, 15), (.connections, 7)] as [(ListSubject, Int)])
  func parts(_ subject: ListSubject, _ count: Int) throws {
    let (lister, other) = (try bus.client(), try bus.client())
    let frames = ByteBuffer(capacity: 256)
    frames.appendFrame(List(subject), serial: 1)
    frames.appendFrame(Suspend(isSuspended: false), serial: 2)
    try lister.send(frames)
    clock.step = TimeShares.iterationNanosecondsMax
    try bus.pass(lister)
    var listed: [(kind: FrameKind?, serial: Serial)] = []
    var iterationCount = 0
    while !listed.contains(where: { $0.kind == .ok }) {
      try other.send(Suspend(isSuspended: false), serial: 7)
      try bus.pass(other)
      try bus.pass()
      #expect(try other.frames().map(\.serial) == [7])
      listed += try lister.frames()
      iterationCount += 1
    }
    #expect(iterationCount >= 3)
    while bus.server.hasWork { try bus.pass() }
    listed += try lister.frames()
    #expect(listed.map(\.kind) == Array(repeating: .entry, count: count) + [.ok, .ok])
    #expect(listed.last?.serial == 2)
  }

  @Test("take turns, and one whose client leaves delays no other")
  func turns() throws {
    let (one, two) = (try bus.client(), try bus.client())
    clock.step = TimeShares.iterationNanosecondsMax
    for client in [one, two] { try client.send(List(.observations), serial: 1) }
    try bus.pass(one, two)
    for _ in 0..<2 { try bus.pass() }
    bus.server.sessions.closeLater(try bus.session(of: one))
    var frames: [(kind: FrameKind?, serial: Serial)] = []
    while bus.server.hasWork {
      try bus.pass()
      frames += try two.frames()
    }
    #expect(frames.count == 16 && frames.last?.kind == .ok)
  }

  @Test("share a part of an iteration, however many clients ask")
  func shared() throws {
    for client in observers { try client.send(List(.connections), serial: 9) }
    clock.step = TimeShares.listNanosecondsMax
    bus.beginIteration()
    for client in observers { try bus.read(client) }
    bus.endIteration()
    var kinds: [FrameKind?] = []
    repeat {
      let part = try observers.flatMap { try $0.frames().map(\.kind) }
      #expect(part.count { $0 == .entry } <= 1)
      kinds += part
      try bus.pass()
    } while bus.server.hasWork
    kinds += try observers.flatMap { try $0.frames().map(\.kind) }
    #expect(kinds.count { $0 == .entry } == 25 && kinds.count { $0 == .ok } == 5)
  }
}
