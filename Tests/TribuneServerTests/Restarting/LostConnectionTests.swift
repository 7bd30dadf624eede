// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore
@testable import TribuneServer

@MainActor
@Suite("A connection that the keeper does not have", .timeLimit(.minutes(15)))
struct LostConnectionTests {
  @Test("stays as a detached session if its client has registered something")
  func detached() throws {
    let bus = try SteppedBus()
    let (delegate, idle) = (try bus.client(), try bus.client())
    try delegate.send(Attach(patterns: ["load.*"]), serial: 1)
    try bus.pass(delegate)
    let next = try bus.successor(isKept: false)
    #expect(next.server.sessions.count == 1)
    #expect(next.server.sessions.detached(delegate.id) != nil)
    #expect(next.server.bus.value.delegateCount == 1)
    #expect(next.server.sessions.detached(idle.id) == nil)
    // This holds even if the next daemon dies before the client comes back.
    let last = try next.successor(isKept: false)
    #expect(last.server.sessions.detached(delegate.id) != nil)
    #expect(last.server.bus.value.delegateCount == 1)
  }
}
