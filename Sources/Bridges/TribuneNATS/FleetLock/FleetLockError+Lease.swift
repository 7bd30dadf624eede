// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

nonisolated extension FleetLockError {
  /// Why a lease was not changed; nil if it was.
  package init?(_ conclusion: LeaseAttempt.Conclusion, _ lease: String) {
    switch conclusion {
    case .made: return nil
    case .busy(let record):
      let owners = record.owners.map(\.summary).joined(separator: "; ")
      self.init(.busy, "others have \(lease): \(owners)")
    case .absent: self.init(.failed, "the client does not have \(lease)")
    case .refused(let why): self.init(.otherSlots, "\(lease): \(why)")
    case .failed(let why): self.init(.failed, "\(why); nothing was changed")
    case .unknown(let why): self.init(.unknown, "\(why); it is not known whether that was done")
    }
  }
}

nonisolated extension LeaseOwner {
  /// `db1 since 2026-11-27 10:02:11, for backup`.
  fileprivate var summary: String {
    let (microseconds, overflow) = UInt64(clamping: since).multipliedReportingOverflow(by: 1_000_000)
    let time = overflow ? nil : LocalTime(microsecondsSince1970: microseconds)
    let begin = time.map { " since \($0.date) \($0.timeOfDay)" } ?? ""
    return host + begin + (label.isEmpty ? "" : ", for \(label)")
  }
}
