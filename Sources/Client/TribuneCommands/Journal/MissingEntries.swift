// SPDX-License-Identifier: Apache-2.0

/// Counts entries of the bus that the journal lacks: the bus dropped them, or journald did at its rate limit.
enum MissingEntries {
  private static let unit = "tribuned.service"
  private static let droppedByBus = "baa7334ff1734bbc8d8f82147d4ab446"
  /// SD_MESSAGE_JOURNAL_DROPPED. Such an entry has N_DROPPED=, and fields OBJECT_...= about the service.
  private static let droppedByJournald = "a596d6fe7bfa4990828e72309e95d61e"

  /// The number of entries that the journal records as missing in these times.
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
      // Only entries of journald itself have this transport.
      guard isByBus || entry["_TRANSPORT"] == "driver" else { continue }
      let text = entry[isByBus ? "TRIBUNE_DROPPED" : "N_DROPPED"]
      count = count.addingReportingOverflow(text.flatMap { UInt64($0) } ?? 0).partialValue
    }
    return count
  }
}
