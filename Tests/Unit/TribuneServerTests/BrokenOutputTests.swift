// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("A client that stops reading", .timeLimit(.minutes(15)))
struct BrokenOutputTests {
  @Test("neither keeps the event loop busy nor delays posters, and can still send")
  func staysQuiet() throws {
    let bus = try SteppedBus()
    let (observer, poster) = (try bus.client(), try bus.client())
    try observer.send(Observe(), serial: 1, name: "load.*")
    try bus.pass(observer)
    let posts = ByteBuffer(capacity: 65_536)
    for serial in Serial(1)...15 {
      posts.appendFrame(Post(), serial: serial, name: "load.unit", text: String(repeating: "x", count: 4000))
    }
    let session = try bus.session(of: observer)
    while session.output.queue.byteCount <= bus.server.context.configuration.queue.highMarkBytes {
      try poster.send(posts)
      repeat { try bus.pass(poster) } while bus.server.hasWork
    }
    #expect(session.output.isBlocked == true)
    try observer.stopReading()
    try bus.flush(session)
    #expect(session.output.writing == .closed && session.pacing.isFlowing)
    #expect(try bus.session(of: poster).pacing.pauseCount == 0)
    _ = try observer.frames()
    #expect(try !bus.readyTokens().contains(session.token))
    try observer.send(Observe(), serial: 2, name: "load.**")
    #expect(try bus.readyTokens().contains(session.token))
  }
}
