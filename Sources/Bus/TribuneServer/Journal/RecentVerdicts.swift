// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The last verdicts of a bus that does not write to the journal.
///
/// There are two lists (`Room`): one for queries of root and of the bus's own user, one for all others. When
/// a list is full, the user with the most verdicts in this list loses its oldest verdict there.
nonisolated struct RecentVerdicts {
  static let countMax = 1_000
  static let bytesMax = 4 << 20

  struct Kept {
    let verdict: VerdictEntry
    /// The number of the verdict, from 1 at the daemon's start.
    let number: UInt64
    /// Microseconds since 1970.
    let time: UInt64

    /// The fields of the verdict's journal entry, with `_PID` and `_UID`, which journald would add. The bus's
    /// protocol limits the length of a field, so this method cuts a long list of outcomes.
    func entry(at now: UInt64) -> PastVerdict {
      var listedMax = VerdictEntry.outcomesMax
      var fields = verdict.journalEntry(listing: listedMax).fields
      while listedMax > 0, fields.contains(where: { $0.utf8.count > UInt16.max }) {
        listedMax /= 2
        fields = verdict.journalEntry(listing: listedMax).fields
      }
      fields += ["_PID=\(ThisProcess.id)", "_UID=\(ThisProcess.effectiveUser)"]
      return PastVerdict(
        connection: verdict.askerConnection, number: number, age: now < time ? 0 : now - time,
        fields: fields)
    }
  }

  private struct Room {
    var kept: [Kept] = []
    var byteCount = 0
    var countByUser: [UInt32: Int] = [:]

    mutating func append(_ new: Kept) {
      kept.append(new)
      byteCount += new.verdict.byteCount
      countByUser[new.verdict.asker.uid, default: 0] += 1
      while kept.count > countMax || byteCount > bytesMax && kept.count > 1 { removeOne() }
    }

    private mutating func removeOne() {
      let user = countByUser.max { $0.value < $1.value }?.key
      guard let index = kept.firstIndex(where: { $0.verdict.asker.uid == user }) else {
        preconditionFailure("the counts of kept verdicts are wrong")
      }
      let removed = kept.remove(at: index)
      byteCount -= removed.verdict.byteCount
      countByUser[removed.verdict.asker.uid, default: 0] -= 1
      if countByUser[removed.verdict.asker.uid] == 0 { countByUser[removed.verdict.asker.uid] = nil }
    }
  }

  private var privileged = Room()
  private var others = Room()
  private var lastNumber: UInt64 = 0

  mutating func append(_ verdict: VerdictEntry) {
    lastNumber += 1
    let new = Kept(verdict: verdict, number: lastNumber, time: SystemClock.wallMicroseconds)
    if ThisProcess.isPrivileged(verdict.asker.uid) { privileged.append(new) } else { others.append(new) }
  }

  /// All kept verdicts, oldest first.
  var all: [Kept] { (privileged.kept + others.kept).sorted { $0.number < $1.number } }
}
