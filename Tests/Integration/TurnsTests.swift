// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneTestSupport

@Suite("Turns of holds and actions", .timeLimit(.minutes(60)))
struct TurnsTests {
  private static let turns = Seeds.isLong ? 10_000 : 200
  private static let turnsBetweenDeaths = turns / 50
  private static let overlap: Int32 = 9

  @Test("a held and a guarded command never overlap, whichever comes first, over 50 deaths of the bus")
  func turns() throws {
    let bus = try RestartedBus()
    let lock = ["flock", "--nonblock", "--conflict-exit-code=\(Self.overlap)", "\(bus.folder.path)/lock"]
    let verbs = [["hold", "a.shouldPrune", "--why=backup"], ["guard", "a.prune"]]
    let commands = [["sleep", "0.01"], ["true"]]
    var vetoed = 0
    for turn in 1...Self.turns {
      let first = Int.random(in: 0...1)
      let programs = try [first, 1 - first].map { kind in
        let program = try bus.bus.start(
          verbs[kind] + ["--wait-for-bus=1min", "--"] + lock + commands[kind])
        // A random distance between the two. It is no deadline: the test waits for the statuses.
        usleep(.random(in: 0...20_000))
        return program
      }
      // If a request of the guard is lost with the bus, the guard runs nothing, and exits with 255.
      var outcomes: Set<Int32> = [0, 77]
      if turn.isMultiple(of: Self.turnsBetweenDeaths) {
        try bus.crash()
        outcomes.insert(255)
      }
      let statuses = programs.map { $0.status() }
      let errors = try programs.map { try $0.errors.rest() }
      #expect(statuses[first] == 0 && outcomes.contains(statuses[1 - first]), "turn \(turn): \(errors)")
      if statuses[1 - first] == 77 { vetoed += 1 }
    }
    #expect(vetoed > 0 && vetoed < Self.turns, "both begin first")
  }
}
