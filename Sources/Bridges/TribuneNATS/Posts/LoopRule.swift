// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Keeps notifications and questions from crossing between hosts twice.
nonisolated enum LoopRule {
  static let process = "tribune-nats"

  static let unknownPoster = "was not sent: the bus does not know who has posted it"

  static func isKnown(_ poster: Poster?) -> Bool { poster.map { !$0.process.isEmpty } ?? false }

  /// False for a gateway, and for an unknown poster, which may be a gateway.
  static func allows(poster: Poster?) -> Bool {
    guard let poster else { return false }
    return !isOwn(poster) && !poster.process.isEmpty && poster.process != process
  }

  static func isOwn(_ poster: Poster?) -> Bool {
    poster?.pid.map { UInt32(bitPattern: $0) } == ThisProcess.id
  }

  /// False for a gateway, because it asks on behalf of another host.
  static func allows(asker: Asker) -> Bool { asker.process != process }
}
