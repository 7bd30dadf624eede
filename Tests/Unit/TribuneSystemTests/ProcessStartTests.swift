// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

@Suite("Start times of processes", .timeLimit(.minutes(15)))
struct ProcessStartTests {
  @Test("This process started before its child, and a child that ended has no start")
  func child() async throws {
    let own = Int32(ThisProcess.id)
    let child = try ChildProcess(["/bin/sleep", "60"].map { Array($0.utf8) }, signalMask: SignalMask([]))
    #expect(ProcessFacts.exists(own) && ProcessFacts.exists(child.pid))
    #expect(ProcessFacts.startTicks(of: own) > 0)
    #expect(ProcessFacts.startTicks(of: child.pid) >= ProcessFacts.startTicks(of: own))
    child.send(signal: Signals.kill)
    _ = await child.ended()
    #expect(!ProcessFacts.exists(child.pid))
    #expect(ProcessFacts.startTicks(of: child.pid) == 0)
  }

  @Test("An invalid process id has no start", arguments: [0, -1])
  func none(pid: Int32) { #expect(ProcessFacts.startTicks(of: pid) == 0) }

  @Test("A boot has an id")
  func boot() { #expect(BootID.current.utf8.count == 36) }
}
