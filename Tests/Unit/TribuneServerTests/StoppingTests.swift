// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("A bus that stops", .timeLimit(.minutes(15)))
struct StoppingTests {
  private static let frameCount = 30

  @Test(
    "handles received frames, as far as there is time, and then tells its clients that it stops",
    arguments: [(0, 90...90), (100_000_000, 1...20)] as [(UInt64, ClosedRange<Int>)])
  func input(step: UInt64, handled: ClosedRange<Int>) throws {
    let clock = SteppingClock()
    let bus = try SteppedBus(clock)
    let clients = try (0..<3).map { _ in try bus.client() }
    for client in clients {
      let frames = ByteBuffer(capacity: 4096)
      for serial in 1...Serial(Self.frameCount) {
        frames.appendFrame(Observe(options: .awaited), serial: serial, name: "load.n\(serial)")
      }
      try client.send(frames)
    }
    bus.beginIteration()
    clock.step = step
    bus.server.stop(graceNanoseconds: .max)
    clock.step = 0
    bus.endIteration()
    let kinds = try clients.map { try $0.frames().map(\.kind) }
    #expect(handled.contains(kinds.joined().count { $0 == .ok }))
    #expect(kinds.allSatisfy { $0.last == .error })
  }
}
