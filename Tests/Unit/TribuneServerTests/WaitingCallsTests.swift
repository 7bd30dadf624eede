// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("Varlink calls that wait")
struct WaitingCallsTests {
  private func call(length: Int) -> ByteBuffer {
    let start = #"{"method":"io.tribune.Bus.Tell","parameters":{"name":"a.b","userInfo":{"text":""#
    let end = "\"}}}"
    let call = ByteBuffer(capacity: length)
    let text = String(repeating: "x", count: length - start.utf8.count - end.utf8.count - 1)
    call.append(message: "\(start)\(text)\(end)")
    return call
  }

  @Test("for their user's time are not copied meanwhile")
  func untouched() throws {
    let clock = SteppingClock()
    let bus = try SteppedBus(clock)
    let callers = [try bus.caller(), try bus.caller()]
    bus.beginIteration()
    for caller in callers {
      // The second call waits for the reply to the first. One read takes it.
      for length in [200, PartialFrames.shortLength] {
        try caller.send(call(length: length))
        try bus.read(caller)
      }
    }
    bus.endIteration()
    let sessions = try callers.map(bus.session)
    let kept = sessions.map { $0.input.partial }
    #expect(kept.allSatisfy { $0?.count == PartialFrames.shortLength })
    clock.step = TimeShares.iterationNanosecondsMax
    bus.beginIteration()
    #expect(sessions[0].input.partial == nil)
    #expect(sessions[1].input.partial === kept[1])
    clock.step = 0
    repeat {
      bus.endIteration()
      bus.beginIteration()
    } while bus.server.hasWork
    for caller in callers { #expect(try caller.replyCount() == 2) }
  }
}
