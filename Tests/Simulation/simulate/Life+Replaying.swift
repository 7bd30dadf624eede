// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import TribuneCore
import TribuneServer

/// Compares the state that a daemon replays from the log with the state that the last daemon had committed.
extension Life {
  struct Commits {
    /// The bus's state at its last commit before it died or handed over.
    var last: BusDigest?
    /// The state at the first commit that came too late. It counts if a compaction had committed it in time.
    var late: BusDigest?
  }

  func planDeath(after points: Int, at place: sim_place) {
    if bus != nil { commits = Commits() }
    Kernel.dieAfter(points, at: place)
  }

  func observeCommits(of bus: BusInstance) {
    bus.observeCommits { [weak self, weak bus] in
      guard let self, let bus, Kernel.isToDie || isHandingOver else { return }
      if !Kernel.busIsDead {
        commits.last = bus.digest
      } else if commits.late == nil {
        commits.late = bus.digest
      }
    }
  }

  func judge(_ replayed: BusDigest?, _ commits: Commits) throws(Violation) {
    guard let replayed, let last = commits.last, !setting.isTight else { return }
    let differences = last.differences(from: replayed)
    guard !differences.isEmpty, commits.late?.differences(from: replayed).isEmpty != true else { return }
    throw fail("the replay differs from what was committed: \(differences.joined(separator: ", "))")
  }
}
