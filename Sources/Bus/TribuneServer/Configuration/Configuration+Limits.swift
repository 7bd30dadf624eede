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
    limits.outcomeIdentitiesMax = outcomeIdentitiesMax
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
  // The sixteenths of `LogMax=`:
  // - 8 for retained notifications, with the default `RetainedMax=`
  // - 5 for users' other frames
  // - 2 for unread control frames (`Recorder`), which have this limit only if the log is over half full
  // - 1 for privileged users

  /// The length of each of the log's two segments, in bytes: `LogMax=` for admitted entries, as much again
  /// for their consequences, and `RetainedMax=` for retained notifications.
  nonisolated var segmentLength: Int { 2 * logMaxBytes + notifications.retainedMaxBytes }

  /// Lowers `LogMax=` and `RetainedMax=` to fit the log. The log is shorter than the configuration needs only
  /// if memory was short when the log was made.
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
