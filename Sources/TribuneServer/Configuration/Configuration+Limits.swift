// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

extension Configuration {
  nonisolated var frameLimits: FrameLimits {
    FrameLimits(fields: WireLimits.fieldsLength, payload: payloadMaxBytes)
  }

  /// The limits that the core enforces.
  nonisolated var busLimits: BusLimits {
    var limits = BusLimits()
    limits.observationsMax = observationsMax
    limits.delegatesMax = delegatesMax
    limits.queriesMax = queriesMax
    limits.delegateTimeout = UInt32(clamping: delegateTimeoutNanoseconds / 1_000_000)
    limits.deadline = UInt32(clamping: deadlineNanoseconds / 1_000_000)
    limits.bufferMax = notifications.bufferMaxBytes
    limits.retainedUserMax = notifications.retainedUserMaxBytes
    limits.retainedMax = notifications.retainedMaxBytes
    limits.rememberedUserMax = logMaxBytes / 4
    limits.bufferTotalMax = max(notifications.bufferMaxBytes, queue.memoryMaxBytes / 4)
    limits.deadlineMax = UInt32(clamping: deadlineMaxNanoseconds / 1_000_000)
    return limits
  }
}
