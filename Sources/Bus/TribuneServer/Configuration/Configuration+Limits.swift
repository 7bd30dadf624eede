// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

extension Configuration {
  nonisolated var frameLimits: FrameLimits {
    FrameLimits(fields: WireLimits.fieldsLength, payload: payloadMaxBytes)
  }

  nonisolated var busLimits: BusLimits {
    var limits = BusLimits()
    limits.observationsMax = observationsMax
    limits.delegatesMax = delegatesMax
    limits.queriesMax = queriesMax
    limits.delegateTimeout = UInt32(clamping: delegateTimeoutNanoseconds / 1_000_000)
    limits.deadline = UInt32(clamping: deadlineNanoseconds / 1_000_000)
    limits.questionsAtATime = questionsAtATime
    limits.bufferMax = notifications.bufferMaxBytes
    limits.deadlineMax = UInt32(clamping: deadlineMaxNanoseconds / 1_000_000)
    limits.totals[.connections] = connectionsMax
    limits.totals[.partialFrames] = partialFramesMemoryMaxBytes
    limits.totals[.log] = logMaxBytes / 16 * 5
    limits.totals[.retained] = notifications.retainedMaxBytes
    limits.totals[.registrations] = registrationsMax
    limits.totals[.queues] = queue.memoryMaxBytes
    limits.totals[.unreadFiles] = ThisProcess.descriptorLimit / 2
    limits.weights = weights
    limits.isForUser = isForUser
    return limits
  }

  // MARK: The log
  // Shares of the log's admission limit: retained notifications 8/16 by default, other frames of users 5/16,
  // unread control frames 2/16 once the log is over half full, privileged users 1/16.

  /// In bytes: `LogMax=` for admitted entries, the same for their consequences, and the retained
  /// notifications.
  nonisolated var segmentLength: Int { 2 * logMaxBytes + notifications.retainedMaxBytes }

  /// Lowers limits to the log's space, which is short only if the log lacked memory.
  func fitted(to wal: WriteAheadLog, _ log: Log) -> Configuration {
    let length = wal.segmentCapacity
    guard segmentLength > length, length < WriteAheadLog.segmentCapacityMax else { return self }
    let share = Double(length) / Double(segmentLength)
    var fitted = self
    fitted.logMaxBytes = Int(share * Double(logMaxBytes))
    fitted.notifications.retainedMaxBytes = Int(share * Double(notifications.retainedMaxBytes))
    log.warning(
      """
      the segments of the log have \(length) bytes: LogMax= is \(fitted.logMaxBytes) and RetainedMax= is \
      \(fitted.notifications.retainedMaxBytes) until the bus is stopped and started
      """)
    return fitted
  }
}
