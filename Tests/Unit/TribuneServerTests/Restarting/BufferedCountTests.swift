// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// The counter slot must be right whenever the bus may die.
@MainActor
@Suite("Buffered notifications", .timeLimit(.minutes(15)))
struct BufferedCountTests {
  private let bus: SteppedBus
  private let observer: SteppedBus.Client
  private let poster: SteppedBus.Client

  init() throws {
    bus = try SteppedBus()
    (observer, poster) = (try bus.client(), try bus.client())
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    try observer.send(Suspend(isSuspended: true), serial: 2)
    try bus.pass(observer)
  }

  private func counts() throws -> [UInt32] {
    let slot = try bus.session(of: observer).slot.index
    let counters = try #require(bus.server.wal.counters(of: slot))
    return [counters.queued, counters.buffered, counters.sent]
  }

  @Test("are counted before the bus is done with their poster", arguments: [.none, .retain] as [PostOptions])
  func buffered(_ options: PostOptions) throws {
    try poster.send(Post(options: options), serial: 1, name: "load.unit")
    bus.beginIteration()
    try bus.read(poster)
    #expect(try counts() == [0, 1, 0])
  }

  @Test("stay counted as buffered when they are queued and sent")
  func resumed() throws {
    for serial in Serial(1)...3 { try poster.send(Post(), serial: serial, name: "load.unit") }
    try bus.pass(poster)
    let bytes = ByteBuffer(capacity: 64)
    bytes.appendFrame(Suspend(isSuspended: false), serial: 3)
    let (server, session) = (bus.server, try bus.session(of: observer))
    let frame = FrameView(
      try #require(try FrameHeader(bytes.bytes, at: 0, limits: session.limits)), bytes.bytes)
    var moments: [[UInt32]] = []
    bus.beginIteration()
    _ = try server.interpreter.receive(frame, in: ByteSlice(bytes, 0..<bytes.count), of: session)
    moments.append(try counts())
    bus.endIteration()
    moments.append(try counts())
    #expect(moments == [[0, 3, 0], [0, 3, 3]])
  }
}
