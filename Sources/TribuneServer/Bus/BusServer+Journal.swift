// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What the bus writes down: each verdict that decides something, once those who wait for it have been told.
extension BusServer {
  /// Keeps a verdict for the end of the iteration.
  func note(_ decision: Decision, of tail: QueryTail) {
    let verdict = decision.verdict
    guard !decision.mode.isForValues else { return }
    if verdict.isDryRun {
      log.debug("dry run: \(VerdictEntry(decision, of: tail).message)")
    } else if log.wants(verdict.verdict, isOverridden: verdict.isOverridden) {
      iteration.verdicts.append(VerdictEntry(decision, of: tail))
    }
  }

  func writeVerdicts() {
    guard !iteration.verdicts.isEmpty else { return }
    for verdict in iteration.verdicts { log.write(verdict) }
    iteration.verdicts.removeAll(keepingCapacity: iteration.verdicts.capacity <= 1024)
  }
}

nonisolated extension VerdictEntry {
  init(_ decision: Decision, of tail: QueryTail) {
    let bytes = tail.slice.bytes
    self.init(
      name: String(repairing: bytes.extracting(first: tail.nameLength)),
      object: String(
        repairing: bytes.extracting(tail.nameLength..<tail.nameLength + tail.objectLength)),
      asker: decision.askerPeer, askerConnection: decision.asker, verdict: decision.verdict,
      vetoes: decision.vetoes, overrideReason: decision.overrideReason, mode: decision.mode,
      elapsedMicroseconds: decision.elapsedNanoseconds / 1000)
  }
}
