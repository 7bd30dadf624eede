// SPDX-License-Identifier: Apache-2.0

/// Entries of the bus that never came into the journal: the bus, or journald's limit of a service's rate, dropped them.
enum MissingEntries {
  private static let unit = "tribuned.service"
  private static let droppedByBus = "baa7334ff1734bbc8d8f82147d4ab446"
  /// SD_MESSAGE_JOURNAL_DROPPED, with the fields N_DROPPED= and, about the service, OBJECT_...=.
  private static let droppedByJournald = "a596d6fe7bfa4990828e72309e95d61e"

  /// How many entries are missing, by what the journal has of that time.
  static func count(in times: ClosedRange<UInt64>, of directory: String?) throws(CommandError) -> UInt64 {
    let journal = try JournalReader(directory: directory)
    for id in [droppedByBus, droppedByJournald] { try journal.match("MESSAGE_ID", id) }
    try journal.seek(to: times.lowerBound)
    var count: UInt64 = 0
    while let entry = try journal.next(), entry.time <= times.upperBound {
      let isByBus = entry["MESSAGE_ID"] == droppedByBus
      let about = isByBus ? "" : "OBJECT"
      guard ["_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT"].contains(where: { entry[about + $0] == unit }) else {
        continue
      }
      // Only journald itself can set it.
      guard isByBus || entry["_TRANSPORT"] == "driver" else { continue }
      let text = entry[isByBus ? "TRIBUNE_DROPPED" : "N_DROPPED"]
      count = count.addingReportingOverflow(text.flatMap { UInt64($0) } ?? 0).partialValue
    }
    return count
  }
}
