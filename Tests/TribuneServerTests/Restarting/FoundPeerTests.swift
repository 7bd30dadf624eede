// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

/// Who a connection is that a state speaks of.
@Suite("Peers in a state", .timeLimit(.minutes(15)))
struct FoundPeerTests {
  @Test(
    "are who the state says, and who the kernel says where another bus has passed both",
    arguments: [false, true])
  func peers(asksWhoConnected: Bool) async {
    await #expect(processExitsWith: .success) { [asksWhoConnected] in
      try await MainActor.run {
        let bus = try SteppedBus()
        let client = try bus.client()
        let session = try bus.session(of: client)
        var facts = ConnectionFacts(session)
        (facts.peer.pid, facts.peer.uid) = (1, 12345)
        let body = bus.server.recorder.emptyBuffer()
        facts.append(to: body)
        bus.server.recorder.recordDisconnection(of: session.id)
        _ = bus.server.recorder.record(.connect, of: session.id, body.bytes)
        bus.server.recorder.commit()
        let next = try bus.successor(asksWhoConnected: asksWhoConnected)
        let peer = try next.session(of: client).peer
        #expect(peer.pid == (asksWhoConnected ? UInt32(getpid()) : 1))
        #expect(peer.uid == (asksWhoConnected ? getuid() : 12345))
      }
    }
  }
}
