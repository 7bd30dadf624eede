// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Whether another gateway says that it is this host: nobody could tell its answers from those of this one.
nonisolated final class DoubledHost: Sendable {
  private let host: String
  private let heardAt = Mutex<ContinuousClock.Instant?>(nil)

  init(_ host: String) { self.host = host }

  /// Why what this gateway answers cannot be believed; nil if it can.
  var doubt: String? {
    guard let heardAt = heardAt.withLock({ $0 }), ContinuousClock.now - heardAt < Neighbours.silenceMax else {
      return nil
    }
    return "another gateway says that it is \(host)"
  }

  /// Another gateway has said so now.
  func note() {
    let wasKnown = doubt != nil
    heardAt.withLock { $0 = .now }
    if !wasKnown, let doubt { ServiceLog.error(doubt) }
  }
}
