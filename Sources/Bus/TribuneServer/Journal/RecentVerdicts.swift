// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The last verdicts of a bus that writes to no journal. Those that root or the bus's own user asked for have room apart:
/// no other user can displace them.
nonisolated struct RecentVerdicts {
  static let countMax = 1_000
  static let bytesMax = 4 << 20

  struct Kept {
    let verdict: VerdictEntry
    /// Microseconds since 1970.
    let time: UInt64

    /// The verdict with the fields that journald would add.
    func entry(at now: UInt64) -> PastVerdict {
      let bus = ["_PID=\(ThisProcess.id)", "_UID=\(ThisProcess.effectiveUser)"]
      return PastVerdict(
        connection: verdict.askerConnection, age: now < time ? 0 : now - time,
        fields: (verdict.journalEntry.fields + bus).map { $0.prefix(utf8Length: Int(UInt16.max)) })
    }
  }

  private struct Queue {
    var kept: [Kept] = []
    var byteCount = 0

    mutating func append(_ new: Kept) {
      kept.append(new)
      byteCount += new.verdict.byteCount
      var excess = 0
      while kept.count - excess > countMax || byteCount > bytesMax && kept.count - excess > 1 {
        byteCount -= kept[excess].verdict.byteCount
        excess += 1
      }
      kept.removeFirst(excess)
    }
  }

  private var privileged = Queue()
  private var others = Queue()

  mutating func append(_ verdict: VerdictEntry) {
    let new = Kept(verdict: verdict, time: SystemClock.wallMicroseconds)
    if ThisProcess.isPrivileged(verdict.asker.uid) { privileged.append(new) } else { others.append(new) }
  }

  /// The oldest first.
  var all: [Kept] { (privileged.kept + others.kept).sorted { $0.time < $1.time } }
}
